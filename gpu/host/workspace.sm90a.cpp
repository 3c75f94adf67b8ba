#include "gpu/host/workspace.hpp"

#include <cuda_runtime_api.h>

#include <utility>

#include "gpu/host/cuda_error.hpp"

namespace rung::hopper {
namespace {

/// Device memory that grows on demand; growing discards its content.
template <typename T>
class Growing {
 public:
  Growing() = default;
  Growing(const Growing&) = delete;
  Growing& operator=(const Growing&) = delete;
  ~Growing() { cudaFree(memory_); }  // fails harmlessly if the CUDA context is already destroyed

  T* at_least(std::size_t elements, const char* what) {
    if (elements <= elements_) return memory_;
    check_cuda(cudaFree(std::exchange(memory_, nullptr)), what);
    elements_ = 0;
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&memory_), elements * sizeof(T)), what);
    check_cuda(cudaMemset(memory_, 0, elements * sizeof(T)), what);
    check_cuda(cudaDeviceSynchronize(), what);  // the memset is not ordered with the streams that will use the memory
    elements_ = elements;
    return memory_;
  }

 private:
  T* memory_ = nullptr;
  std::size_t elements_ = 0;
};

}  // namespace

Workspace& workspace(std::size_t a, std::size_t b, std::size_t partials, std::size_t flags) {
  static Growing<float> memory_a, memory_b, memory_partials;
  static Growing<unsigned> memory_flags;
  static Workspace space;
  space.a = memory_a.at_least(a, "allocating the workspace for A");
  space.b = memory_b.at_least(b, "allocating the workspace for B");
  space.partials = memory_partials.at_least(partials, "allocating the workspace for partial sums");
  space.flags = memory_flags.at_least(flags, "allocating the workspace for flags");
  if (++space.epoch == 0) space.epoch = 1;  // 0 is the value of new flags
  return space;
}

}  // namespace rung::hopper
