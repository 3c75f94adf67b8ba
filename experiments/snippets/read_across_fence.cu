// ptx: ld\.global\.u32[^}]*(membar|fence)[^}]*ld\.global\.u32
// Two reads of an element with a fence between them.
__global__ void read(int* a, int* sum) {
  const int before = a[0];
  __threadfence();
  *sum = before + a[0];
}
