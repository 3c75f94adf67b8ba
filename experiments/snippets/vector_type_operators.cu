// Arithmetic operators on vector types.
#ifdef MENDED
__device__ float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
#endif
__global__ void add(const float4* a, const float4* b, float4* sum) { *sum = *a + *b; }
