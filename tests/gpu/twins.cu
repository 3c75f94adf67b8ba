/// Four kernels of the suite as one would write them without it: plain pointers, plain variables, nothing included.
/// tests/gpu/sass_test.cpp compares the suite's kernels with them, instruction by instruction.

extern "C" __global__ void twin_naive(const float* a, const float* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = sum;
}

extern "C" __global__ void twin_tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][16];
  __shared__ float bs[16][16];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int row = blockIdx.y * 16 + ty;
  const int col = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int phase = 0; phase < n / 16; ++phase) {
    as[ty][tx] = a[row * n + phase * 16 + tx];
    bs[ty][tx] = b[(phase * 16 + ty) * n + col];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

extern "C" __global__ void twin_checked(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][16];
  __shared__ float bs[16][16];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int row = blockIdx.y * 16 + ty;
  const int col = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int phase = 0; phase < (n + 16 - 1) / 16; ++phase) {
    if (row < n && phase * 16 + tx < n)
      as[ty][tx] = a[row * n + phase * 16 + tx];
    else
      as[ty][tx] = 0;
    if (phase * 16 + ty < n && col < n)
      bs[ty][tx] = b[(phase * 16 + ty) * n + col];
    else
      bs[ty][tx] = 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < n && col < n) c[row * n + col] = sum;
}

extern "C" __global__ void twin_copy(const uint4* from, uint4* to, long quads) {
  const long first = long(blockIdx.x) * 256 * 4 + threadIdx.x;
  uint4 quad[4];
  for (int j = 0; j < 4; ++j)
    if (first + j * 256 < quads) quad[j] = from[first + j * 256];
  for (int j = 0; j < 4; ++j)
    if (first + j * 256 < quads) to[first + j * 256] = quad[j];
}
