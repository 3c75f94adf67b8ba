// Figure 5.14: the parameter is called Mdz_sz, line 7 uses Mds_sz.
#ifdef MENDED
__global__ void kernel(float* result, unsigned Mds_sz, unsigned Nds_sz) {
#else
__global__ void kernel(float* result, unsigned Mdz_sz, unsigned Nds_sz) {
#endif
  extern __shared__ float Mds_Nds[];
  float *Nds = (float *) Mds_Nds + Mds_sz;
  *result = Nds[threadIdx.x];
}
