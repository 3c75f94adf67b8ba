// options: -Xcompiler=-Werror
// ptx: 90;
// A function of both sides with a path for each, chosen by __CUDA_ARCH__. What the host calls is defined where the macro is
// not, so that the host's compiler refuses the file if the macro is defined for it.
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

static int on_the_host();
#ifndef __CUDA_ARCH__
static int on_the_host() { return path(); }
#endif

int ask_here() { return on_the_host(); }
