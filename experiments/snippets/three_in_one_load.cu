// ptx: ld\.global\.v[34]|ld\.global\.b128
// Three floats in one load.
__global__ void copy(const float3* a, float3* b) { b[threadIdx.x] = a[threadIdx.x]; }
