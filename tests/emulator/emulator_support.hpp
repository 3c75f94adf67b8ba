/// What the tests of the emulator share: arrays for kernels written in a test, and a counted launch.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "common/emulator/device_memory.hpp"
#include "common/emulator/emulator.hpp"
#include "common/harness/count.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
inline namespace RUNG_EMULATION {

/// An array in the emulated global memory, all zeros.
template <typename T>
class Array {
 public:
  explicit Array(std::size_t size) : data_(static_cast<T*>(allocate_on_device(size * sizeof(T)))) {
    std::fill_n(data_.get(), size, T{});
    mark_written(data_.get(), size * sizeof(T));
  }
  mem<T>* on_device() { return reinterpret_cast<mem<T>*>(data_.get()); }
  T& operator[](std::size_t i) { return data_.get()[i]; }

 private:
  struct Release {
    void operator()(T* memory) const { release_on_device(memory); }
  };
  std::unique_ptr<T, Release> data_;
};

template <typename... Parameters, typename... Arguments>
Counts counted(const Launch& shape, const EmulatorOptions& options, void (*kernel)(Parameters...),
               Arguments... arguments) {
  Recording recording(options);
  Call call;
  call.launch = shape;
  launch(call, kernel, arguments...);
  return recording.counts();
}

inline const Launch kOneWarp{{1}, {32}};

/// The message of the Error that the launch ends with; empty if it does not.
template <typename... Arguments>
std::string failure(Arguments... arguments) {
  try {
    counted(arguments...);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace RUNG_EMULATION
}  // namespace rung
