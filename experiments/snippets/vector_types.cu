// Vector types with their constructors, on the host and on the device.
__host__ __device__ float4 corner() { return make_float4(1.0f, 2.0f, 3.0f, 4.0f); }

__global__ void sum(float* result) {
  const float4 v = corner();
  *result = v.x + v.y + v.z + v.w;
}

int first() { return make_int2(1, 2).x; }
