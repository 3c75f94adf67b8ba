// ptx: ld\.global\.u32[^}]*bar[^}]*ld\.global\.u32
// Two reads of an element with a barrier between them.
__global__ void read(int* a, int* sum) {
  const int before = a[0];
  __syncthreads();
  *sum = before + a[0];
}
