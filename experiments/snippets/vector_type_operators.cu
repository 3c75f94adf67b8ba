// Arithmetic operators on vector types.
__global__ void add(const float4* a, const float4* b, float4* sum) { *sum = *a + *b; }
