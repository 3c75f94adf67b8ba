// The functions of the lecture's list, of float and of double.
template <typename T>
__device__ T all(T x, T y) {
  T sine, cosine;
  sincos(x, &sine, &cosine);
  return sine + cosine + sqrt(x) + rsqrt(x) + exp(x) + log(x) + sin(x) + cos(x) + tan(x) + asin(x) + acos(x) +
         atan2(y, x) + trunc(x) + ceil(x) + floor(x);
}

__global__ void ask(float* a, double* b) {
  *a = all(*a, a[1]);
  *b = all(*b, b[1]);
}
