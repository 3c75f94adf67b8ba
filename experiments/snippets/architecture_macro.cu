// A function of both sides with a path for each, chosen by __CUDA_ARCH__.
__host__ __device__ int path() {
#if __CUDA_ARCH__ == 900
  return 90;
#elif defined(__CUDA_ARCH__)
  static_assert(false, "device code of another compute capability");
#else
  return 0;
#endif
}

__global__ void ask(int* result) { *result = path(); }

int ask_here() { return path(); }
