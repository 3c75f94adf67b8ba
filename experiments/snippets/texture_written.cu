// A kernel that writes what it fetches from a texture; mended, it reads.
__global__ void kernel(cudaTextureObject_t texture, float* result) {
#ifdef MENDED
  *result = tex1Dfetch<float>(texture, threadIdx.x);
#else
  tex1Dfetch<float>(texture, threadIdx.x) = *result;
#endif
}
