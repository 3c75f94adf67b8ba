/// The GPU's side of a program that was built without CUDA: it reports that, and everything else works.
#include "common/machine/device_facts.hpp"
#include "common/machine/target.hpp"
#include "gpu/simt/copies.hpp"
#include "gpu/simt/cub.hpp"
#include "gpu/simt/cublas.hpp"

namespace rung {

GpuTarget open_gpu(int /*device*/) {
  return {nullptr, "built without CUDA: there was no nvcc, or none for this GPU, when rung was built"};
}

std::optional<DeviceFacts> present_gpu_facts() { return std::nullopt; }

void cublas_matmul(const Call&, const Matmul<void, void>&, Type) {
  throw Error("cuBLAS is not in this program: it was built without CUDA");
}

void cublas_transpose(const Call&, const float*, float*, int, int) {
  throw Error("cuBLAS is not in this program: it was built without CUDA");
}

void cublaslt_matmul(const Call&, const Matmul<void, void>&, Type) {
  throw Error("cublasLt is not in this program: it was built without CUDA");
}

void cub_sum(const Call&, std::size_t) { throw Error("CUB is not in this program: it was built without CUDA"); }
void cub_prefix_sum(const Call& call, std::size_t bytes) { cub_sum(call, bytes); }
void cub_histogram(const Call& call, std::size_t bytes) { cub_sum(call, bytes); }

void copy_to_gpu(void*, const void*, std::size_t, void*) {
  throw Error("nothing can be copied to a GPU: this program was built without CUDA");
}
void copy_from_gpu(void* host, const void* gpu, std::size_t bytes, void* stream) {
  copy_to_gpu(host, gpu, bytes, stream);
}
void* fork_stream(const Call&, int) { return nullptr; }
void join_stream(const Call&, int) {}

std::string cublas_version() { return ""; }

}  // namespace rung
