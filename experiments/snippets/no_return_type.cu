// The example of the lecture, without a return type.
__host__ __device__ func() {
#if __CUDA_ARCH__ == 100
#elif !defined(__CUDA_ARCH__)
#endif
}
