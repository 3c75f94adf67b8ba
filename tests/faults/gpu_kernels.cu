/// Kernels that leave the GPU in a bad state, in addition to the ordinary ones, for the program rung_with_faults. They
/// are right for n below 16, so that the fault occurs in the middle of a study. For nvcc alone.
#include "common/problem/matmul.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

enum class Fault { hang, trap, stray };

__global__ void product(const float* a, const float* b, float* c, int m, int n, int k, Fault fault) {
  if (n >= 16 && fault == Fault::hang)
    while (static_cast<volatile float*>(c)[0] != 1e30f) {
    }
  if (n >= 16 && fault == Fault::trap) __trap();
  if (n >= 16 && fault == Fault::stray) c += std::int64_t{1} << 40;
  const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = sum;
}

bool plant(const char* name, const char* title, Fault fault) {
  return add_gpu_kernel({.name = std::string("gpu/matmul/") + name,
                         .order = 1000,
                         .title = title,
                         .idea = "A planted fault.",
                         .gpu = {.launch =
                                     [](const Params& p) {
                                       const auto [m, n, k] = matmul_shape(p);
                                       return Launch{{blocks_for(n, 16), blocks_for(m, 16)}, {16, 16}};
                                     },
                                 .requested =
                                     [](const Params& p) {
                                       const auto [m, n, k] = matmul_shape(p);
                                       return Traffic{.loaded = 8.0 * m * n * k, .stored = 4.0 * m * n};
                                     }},
                         .run = [fault](const Call& call) {
                           const auto [m, n, k] = matmul_shape(call.params);
                           launch(call, product, call.operand<const float>(0), call.operand<const float>(1),
                                  call.operand<float>(2), m, n, k, fault);
                         }});
}

const bool planted = plant("hangs", "hangs", Fault::hang) && plant("traps", "traps", Fault::trap) &&
                     plant("strays", "writes outside every array", Fault::stray);

}  // namespace
}  // namespace rung
