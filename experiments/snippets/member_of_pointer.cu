// The kernel of the lecture: Md is a pointer to float and a structure with a width.
__global__ void MatrixMulKernel(float* Md, float* Nd, float* Pd, int Width) {
  int tx = threadIdx.x;
  int ty = threadIdx.y;
  float Pvalue = 0;
  for (int k = 0; k < Width; ++k) {
#ifdef MENDED
    float Mdelement = Md[ty * Width + k];
    float Ndelement = Nd[k * Width + tx];
#else
    float Mdelement = Md[ty * Md.width + k];
    float Ndelement = Nd[k * Nd.width + tx];
#endif
    Pvalue += Mdelement * Ndelement;
  }
  Pd[ty * Width + tx] = Pvalue;
}
