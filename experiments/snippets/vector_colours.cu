// The components by the names of colours, as in GLSL.
__global__ void red(const float4* v, float* result) { *result = v->r + v->g + v->b + v->a; }
