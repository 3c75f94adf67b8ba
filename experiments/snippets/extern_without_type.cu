// Section 5.6: the declaration of the merged array.
__global__ void kernel(float* result) {
#ifdef MENDED
  extern __shared__ float Mds_Nds[];
#else
  extern __shared__ Mds_Nds[];
#endif
  *result = Mds_Nds[threadIdx.x];
}
