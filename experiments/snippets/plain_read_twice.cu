// ptx: ld\.global\.u32[^}]*ld\.global\.u32
// Two reads of an element.
__global__ void read(int* a, int* sum) { *sum = a[0] + a[0]; }
