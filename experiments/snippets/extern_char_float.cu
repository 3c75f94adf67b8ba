// Figure 5.14, line 4.
__global__ void kernel(float* result) {
#ifdef MENDED
  extern __shared__ float Mds_Nds[];
#else
  extern __shared__ char float Mds_Nds[];
#endif
  *result = (float)Mds_Nds[threadIdx.x];
}
