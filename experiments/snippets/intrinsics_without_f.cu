// Intrinsics by the names of the lecture, with two underscores.
__global__ void ask(float* x) {
#ifdef MENDED
  *x = __expf(*x) + __logf(*x) + __sinf(*x) + __powf(*x, 2.0f);
#else
  *x = __exp(*x) + __log(*x) + __sin(*x) + __pow(*x, 2.0f);
#endif
}
