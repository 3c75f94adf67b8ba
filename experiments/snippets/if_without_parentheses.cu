// Figure 5.13, lines 32 and 33.
__global__ void store(float* P, float Pvalue, int Row, int Col, int Width) {
#ifdef MENDED
  if ((Row < Width) && (Col < Width))
#else
  if (Row < Width) && (Col < Width)
#endif
    P[Row*Width + Col] = Pvalue;
}
