// Intrinsics by the names of the lecture.
__global__ void ask(float* x) { *x = _exp(*x) + _log(*x) + _sin(*x) + _pow(*x, 2.0f); }
