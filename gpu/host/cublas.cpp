/// cuBLAS behind one function. The library's handle and workspace are created once and never freed: freeing them at
/// exit would race with CUDA's own shutdown.
#include "gpu/simt/cublas.hpp"

#include <cublas_v2.h>

#include <cstdlib>
#include <string>

#include "common/machine/target.hpp"
#include "gpu/host/cuda_error.hpp"
#include "gpu/host/cuda_type.hpp"

namespace rung {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

/// Only the call itself shows that cuBLAS has no kernel for a product.
void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH)
    throw LaunchRefused("cuBLAS has no kernel for this product");
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

cudaDataType cuda_type(Type type) {
  switch (type) {
    case Type::fp32:
    case Type::tf32:
      return CUDA_R_32F;
    case Type::bf16:
      return CUDA_R_16BF;
    case Type::fp16:
      return CUDA_R_16F;
    case Type::fp8:
      return CUDA_R_8F_E4M3;
    case Type::int8:
      return CUDA_R_8I;
    case Type::int32:
      return CUDA_R_32I;
    default:
      throw Error(std::string("cuBLAS is not called for ") + type_name(type));
  }
}

cublasComputeType_t compute_type(Type type) {
  return type == Type::int8   ? CUBLAS_COMPUTE_32I
         : type == Type::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                              : CUBLAS_COMPUTE_32F;
}

void cublas_matmul(const Call& call, const Matmul<void, void>& it, Type type) {
  Library& cublas = library();
  if (auto* stream = static_cast<cudaStream_t>(call.stream); stream != cublas.stream) cublas.use(stream);
  // Column-major cuBLAS sees each row-major matrix transposed; C^T = B^T A^T needs no copy and no transposition. An A
  // or B stored by columns it sees as it is, so it has to transpose it.
  const cublasOperation_t order_of_a = has_a_by_columns(it.layout) ? CUBLAS_OP_T : CUBLAS_OP_N,
                          order_of_b = has_b_by_columns(it.layout) ? CUBLAS_OP_T : CUBLAS_OP_N;
  const auto lda = static_cast<int>(it.lda), ldb = static_cast<int>(it.ldb), ldc = static_cast<int>(it.ldc);
  if (type == Type::fp32)
    return check(
        cublasSgemm(cublas.handle, order_of_b, order_of_a, it.n, it.m, it.k, &it.alpha, static_cast<const float*>(it.b),
                    ldb, static_cast<const float*>(it.a), lda, &it.beta, static_cast<float*>(it.c), ldc),
        "sgemm");
  const cudaDataType inputs = cuda_type(type), output = type == Type::int8 ? CUDA_R_32I : CUDA_R_32F;
  const Factors factors(it, type);
  check(cublasGemmEx(cublas.handle, order_of_b, order_of_a, it.n, it.m, it.k, factors.alpha(), it.b, inputs, ldb, it.a,
                     inputs, lda, factors.beta(), it.c, output, ldc, compute_type(type), CUBLAS_GEMM_DEFAULT),
        "multiply");
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
