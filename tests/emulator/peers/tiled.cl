// The 16-wide tiled product of gpu/matmul/tiled.cu in OpenCL C, for Oclgrind; tests/emulator/peers/tiled_oclgrind.py runs it.
// -DMISSING_BARRIER leaves out the barrier between filling the tiles and reading what other work-items put there;
// -DUNFILLED leaves the first row of B's tile as it is found.
#define TILE 16

__kernel void tiled(__global const float* a, __global const float* b, __global float* c, int n) {
  __local float as[TILE][TILE];
  __local float bs[TILE][TILE];
  const int tx = get_local_id(0);
  const int ty = get_local_id(1);
  const int row = get_group_id(1) * TILE + ty;
  const int col = get_group_id(0) * TILE + tx;
  float sum = 0;
  for (int phase = 0; phase < n / TILE; ++phase) {
    as[ty][tx] = a[row * n + phase * TILE + tx];
#ifdef UNFILLED
    if (ty > 0)
#endif
      bs[ty][tx] = b[(phase * TILE + ty) * n + col];
#ifndef MISSING_BARRIER
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    for (int i = 0; i < TILE; ++i) sum += as[ty][i] * bs[i][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + col] = sum;
}
