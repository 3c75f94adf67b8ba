// 3rd edition, figure 4.20, line 15.
__global__ void store(float* P, float Pvalue, int Row, int Col, int Width) {
#ifdef MENDED
  if ((Row<Width) && (Col<Width)) P[Row*Width + Col] = Pvalue;
#else
  if ((Row<Width) && (Col<Width)P[Row*Width + Col] = Pvalue;
#endif
}
