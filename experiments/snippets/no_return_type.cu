// The example of the lecture, without a return type.
#ifdef MENDED
__host__ __device__ void func() {
#else
__host__ __device__ func() {
#endif
#if __CUDA_ARCH__ == 100
#elif !defined(__CUDA_ARCH__)
#endif
}
