// ptx: (ld\.volatile\.global\.u32[^;]*;\s*){2}
// Two reads of a volatile element.
__global__ void read(volatile int* a, int* sum) { *sum = a[0] + a[0]; }
