// Intrinsics by the names of the lecture.
__global__ void ask(float* x) {
#ifdef MENDED
  *x = __expf(*x) + __logf(*x) + __sinf(*x) + __powf(*x, 2.0f);
#else
  *x = _exp(*x) + _log(*x) + _sin(*x) + _pow(*x, 2.0f);
#endif
}
