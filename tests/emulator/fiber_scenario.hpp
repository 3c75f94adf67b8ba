/// The emulator's requirements on its fibers, for the fibers of Boost.Context and of a build without it.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/emulator/fiber.hpp"

namespace rung {

/// Empty, or the error.
inline std::string fiber_scenario() {
  StackPool stacks;
  std::string order;
  std::vector<std::unique_ptr<Fiber>> fibers;
  for (int i = 0; i < 40; ++i)  // more than one area of stacks holds
    fibers.push_back(std::make_unique<Fiber>(stacks.next(), [&order, i](Fiber& self) {
      double sum = 0;
      char local[1000] = {};
      for (int turn = 0; turn < 3; ++turn) {
        order += static_cast<char>('A' + i);
        local[turn * 7] = order.back();
        try {
          self.suspend();
          throw std::runtime_error("after the switch");
        } catch (const std::runtime_error&) {
          sum += std::sqrt(i + turn);
        }
      }
      double expected = 0;
      for (int turn = 0; turn < 3; ++turn) expected += std::sqrt(i + turn);
      if (sum != expected || local[7] != 'A' + i) order += '!';
    }));
  for (int turn = 0; turn < 4; ++turn)  // the last lets the bodies end
    for (const auto& fiber : fibers) fiber->resume();
  std::string wanted;
  for (int turn = 0; turn < 3; ++turn)
    for (int i = 0; i < 40; ++i) wanted += static_cast<char>('A' + i);
  if (order != wanted) return "the fibers ran in the order " + order;
  for (const auto& fiber : fibers)
    if (!fiber->intact()) return "a stack overflowed";
  int starts = 0, ends = 0;
  Fiber given_up(stacks.next(), [&](Fiber& self) {
    struct End {
      int& ends;
      ~End() { ++ends; }
    } const end{ends};
    ++starts;
    self.suspend();
  });
  for (int turn = 0; turn < 3; ++turn) {
    if (turn > 0) given_up.restart();
    given_up.resume();
  }
  if (starts != 3 || ends != 0) return "a fiber that is given up continues or is unwound";
  given_up.resume();
  if (ends != 1) return "a fiber that was restarted does not end";
  Fiber waiting(stacks.next(), [](Fiber& self) { self.suspend(); });
  waiting.resume();  // never resumed again: its end must not need it
  return "";
}

}  // namespace rung
