// Intrinsics by the names of the lecture, with two underscores.
__global__ void ask(float* x) { *x = __exp(*x) + __log(*x) + __sin(*x) + __pow(*x, 2.0f); }
