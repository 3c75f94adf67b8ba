/// The cases at which every kernel of the registry is tested: the test sizes of its problem with the values of its
/// tunables. The tests that use them do not name any kernel or problem.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "common/harness/experiment.hpp"

namespace rung {

/// Every combination of the kernel's tunables; of long lists only the ends and the second value.
inline std::vector<Params> variants_of(const Kernel& kernel) {
  std::vector<Params> variants{Params{}};
  for (const Tunable& tunable : kernel.tunables) {
    std::vector<Value> values = tunable.values;
    if (values.size() > 4) values = {values.front(), values[1], values.back()};
    std::vector<Params> more;
    for (const Params& variant : variants)
      for (const Value& value : values) {
        more.push_back(variant);
        more.back().set(tunable.name, value);
      }
    variants = more;
  }
  return variants;
}

/// The points of a kernel that it and its problem allow here, at the problem's test sizes and at sizes that follow from
/// the machine's only where these are small.
inline std::vector<Point> cases_of(const Kernel& kernel) {
  std::vector<Point> cases;
  for (const Params& sizes : problem_of(kernel).test_sizes)
    for (const Params& variant : variants_of(kernel)) {
      Params given = sizes;
      for (const auto& [name, value] : variant) given.set(name, value);
      Point point = point_of(kernel, given);
      if (refusal(kernel, point.params()).empty()) cases.push_back(std::move(point));
    }
  return cases;
}

/// "gpu_matmul_tiled" for GoogleTest's parameters.
inline std::string test_name(const testing::TestParamInfo<const Kernel*>& info) {
  std::string name = info.param->name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

}  // namespace rung
