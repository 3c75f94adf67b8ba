// ptx: (add\.f32[^;]*;\s*){4}
// Four floats are added one by one.
__global__ void add(const float4* a, const float4* b, float4* sum) {
  const float4 x = *a, y = *b;
  *sum = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}
