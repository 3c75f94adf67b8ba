// The kernel of the lecture: Md is a pointer to float and a structure with a width.
__global__ void MatrixMulKernel(float* Md, float* Nd, float* Pd, int Width) {
  int tx = threadIdx.x;
  int ty = threadIdx.y;
  float Pvalue = 0;
  for (int k = 0; k < Width; ++k) {
    float Mdelement = Md[ty * Md.width + k];
    float Ndelement = Nd[k * Nd.width + tx];
    Pvalue += Mdelement * Ndelement;
  }
  Pd[ty * Width + tx] = Pvalue;
}
