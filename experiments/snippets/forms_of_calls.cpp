// The general forms of the course: allocation, copies and release.
#include <cuda_runtime_api.h>

cudaError_t (*allocate)(void**, size_t) = cudaMalloc;
cudaError_t (*copy)(void*, const void*, size_t, cudaMemcpyKind) = cudaMemcpy;
cudaError_t (*release)(void*) = cudaFree;
cudaError_t (*last)() = cudaGetLastError;
const char* (*text)(cudaError_t) = cudaGetErrorString;
cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
