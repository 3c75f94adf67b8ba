/// cuBLAS behind one function. The library's handle and workspace are made once and stay for the process: freeing them
/// at exit would race with CUDA's own end.
#include "gpu/simt/cublas.hpp"

#include <cublas_v2.h>

#include <cstdlib>
#include <string>

#include "gpu/cuda_error.hpp"

namespace rung {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(std::string("cuBLAS, ") + what + ": " + cublasGetStatusString(status));
}

/// Default math keeps an FP32 product in FP32, unless the environment overrides it for every program.
void forbid_tf32(cublasHandle_t handle) {
  if (const char* forced = std::getenv("NVIDIA_TF32_OVERRIDE"); forced && std::string(forced) != "0")
    throw Error("NVIDIA_TF32_OVERRIDE=" + std::string(forced) + " lets cuBLAS round FP32 inputs to TF32: unset it");
  check(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH), "set math mode");
}

struct Library {
  cublasHandle_t handle = nullptr;
  void* workspace = nullptr;
  cudaStream_t stream = nullptr;

  Library() {
    check(cublasCreate(&handle), "create");
    try {
      forbid_tf32(handle);
      check_cuda(cudaMalloc(&workspace, kWorkspaceBytes), "cuBLAS workspace of 64 MiB");
      use(nullptr);
    } catch (...) {
      cublasDestroy(handle);
      throw;
    }
  }

  /// A new stream makes cuBLAS forget its workspace, so both are set together, and only when the stream changes.
  void use(cudaStream_t wanted) {
    check(cublasSetStream(handle, wanted), "set stream");
    check(cublasSetWorkspace(handle, workspace, kWorkspaceBytes), "set workspace");
    stream = wanted;
  }
};

Library& library() {
  static auto* const made = new Library;
  return *made;
}

}  // namespace

void cublas_sgemm(const Call& call, const Matmul<>& it) {
  Library& cublas = library();
  if (auto* stream = static_cast<cudaStream_t>(call.stream); stream != cublas.stream) cublas.use(stream);
  // Column-major cuBLAS sees each row-major matrix transposed; C^T = B^T A^T needs no copy and no transposition.
  check(cublasSgemm(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, it.n, it.m, it.k, &it.alpha, it.b,
                    static_cast<int>(it.ldb), it.a, static_cast<int>(it.lda), &it.beta, it.c, static_cast<int>(it.ldc)),
        "sgemm");
}

void cublas_transpose(const Call& call, const float* a, float* b, int rows, int cols) {
  Library& cublas = library();
  if (auto* stream = static_cast<cudaStream_t>(call.stream); stream != cublas.stream) cublas.use(stream);
  const float one = 1, zero = 0;
  // Column-major cuBLAS sees A as cols x rows. With a factor of 0 the second matrix is not read.
  check(cublasSgeam(cublas.handle, CUBLAS_OP_T, CUBLAS_OP_N, rows, cols, &one, a, cols, &zero, b, rows, b, rows),
        "sgeam");
}

std::string cublas_version() {
  int major = 0, minor = 0, patch = 0;
  if (cublasGetProperty(MAJOR_VERSION, &major) != CUBLAS_STATUS_SUCCESS ||
      cublasGetProperty(MINOR_VERSION, &minor) != CUBLAS_STATUS_SUCCESS ||
      cublasGetProperty(PATCH_LEVEL, &patch) != CUBLAS_STATUS_SUCCESS)
    return "";
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace rung
