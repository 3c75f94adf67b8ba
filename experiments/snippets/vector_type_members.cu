// int4, float3 and double2 on both sides, by their elements.
__host__ __device__ double all(int4 i, float3 f, double2 d) {
  return i.x + i.y + i.z + i.w + f.x + f.y + f.z + d.x + d.y;
}

__global__ void ask(double* result) { *result = all(make_int4(1, 2, 3, 4), make_float3(1, 2, 3), make_double2(1, 2)); }

double ask_here() { return all(make_int4(1, 2, 3, 4), make_float3(1, 2, 3), make_double2(1, 2)); }
