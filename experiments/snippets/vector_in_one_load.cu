// ptx: ld\.global\.v4\.
// ptx: st\.global\.v4\.
// Four floats in one load and one store.
__global__ void copy(const float4* a, float4* b) { b[threadIdx.x] = a[threadIdx.x]; }
