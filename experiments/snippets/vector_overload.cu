// A function of a whole vector.
__global__ void roots(const float4* v, float4* result) { *result = sqrt(*v); }
