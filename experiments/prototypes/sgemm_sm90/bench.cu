// Checks every variant of kernel.cuh against float64, then times all of them interleaved with cuBLAS and cublasLt.
// Build: nvcc -O3 -Xptxas -O1 -std=c++20 -arch=sm_90a bench.cu -o bench -lcublas -lcublasLt
// Run:   ./bench [parts of variants' names ...]     (none: all)
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cudaTypedefs.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "variants.cuh"

#define CHECK(call)                                                                  \
  do {                                                                               \
    const auto status_ = (call);                                                     \
    if (static_cast<int>(status_) != 0) {                                            \
      std::printf("line %d: %s = %d\n", __LINE__, #call, static_cast<int>(status_)); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (0)

namespace {

using sgemm::ALayout;
using sgemm::Problem;

int rounds = 11;
bool kAlsoGiven = false;
constexpr size_t kWorkspace = 64 << 20;

/// Row-major operands on the device. Lines are padded to 16 bytes for TMA; the padding of C is watched.
struct Operands {
  int m, n, k, lda, ldb, ldc;
  float *a, *b, *c;
};

int padded(int n) { return (n + 3) / 4 * 4; }

__global__ void fill(float* x, size_t n, unsigned seed) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x) {
    unsigned long long z = i * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    x[i] = static_cast<float>(static_cast<int>((z ^ (z >> 31)) >> 40)) * 0x1p-23f - 1.0f;
  }
}

/// Counts what is wrong in C: of the entries picked by `every` (1: all), values beyond gamma_{k+2} |A||B| of the
/// float64 sum (NaN too), and written padding.
__global__ void judge(Operands o, int every, unsigned long long* wrong) {
  for (size_t e = (blockIdx.x * size_t{blockDim.x} + threadIdx.x) * every; e < size_t(o.m) * o.ldc;
       e += size_t{gridDim.x} * blockDim.x * every) {
    const size_t i = e / o.ldc, j = e % o.ldc;
    if (j >= o.n) {
      if (__float_as_uint(o.c[e]) != 0xFFFFFFFFu) atomicAdd(wrong, 1ull);
      continue;
    }
    double sum = 0, size = 0;
    for (int k = 0; k < o.k; ++k) {
      const double term = double(o.a[i * o.lda + k]) * o.b[size_t(k) * o.ldb + j];
      sum += term, size += fabs(term);
    }
    const double gamma = (o.k + 2) * 0x1p-24 / (1 - (o.k + 2) * 0x1p-24);
    if (!(fabs(o.c[e] - sum) <= gamma * size)) atomicAdd(wrong, 1ull);
  }
}

/// Counts entries farther apart than 4 k u. Inputs are uniform in (-1, 1), so |A||B| is about k / 4 and the proven
/// bound k^2 u / 2; two float32 sums of one entry differ by about k u / 5 (one deviation), a wrong term by about 0.5.
__global__ void differ(Operands o, const float* y, float bound, unsigned long long* wrong) {
  for (size_t e = blockIdx.x * size_t{blockDim.x} + threadIdx.x; e < size_t(o.m) * o.ldc;
       e += size_t{gridDim.x} * blockDim.x)
    if (e % o.ldc < o.n && !(fabsf(o.c[e] - y[e]) <= bound)) atomicAdd(wrong, 1ull);
}

/// t = a transposed, tile by tile of 64 x 64. Lets the next kernel start its set-up at once.
__global__ void __launch_bounds__(256) transpose(const float* a, float* t, int m, int k, int lda, int ldt) {
  asm volatile("griddepcontrol.launch_dependents;");
  __shared__ float tile[64][65];
  const int x0 = blockIdx.x * 64, y0 = blockIdx.y * 64;
#pragma unroll
  for (int i = threadIdx.x; i < 1024; i += 256) {
    const int y = i / 16, x = i % 16 * 4;
    if (y0 + y >= m) continue;
    const float* from = a + size_t(y0 + y) * lda + x0 + x;
    if (lda % 4 == 0 && x0 + x + 3 < k) {
      const float4 v = __ldcs(reinterpret_cast<const float4*>(from));
      tile[y][x] = v.x, tile[y][x + 1] = v.y, tile[y][x + 2] = v.z, tile[y][x + 3] = v.w;
    } else {
      for (int e = 0; e < 4; ++e)
        if (x0 + x + e < k) tile[y][x + e] = from[e];
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.x; i < 1024; i += 256) {
    const int x = i / 16, y = i % 16 * 4;
    if (x0 + x >= k) continue;
    float* to = t + size_t(x0 + x) * ldt + y0 + y;
    if (y0 + y + 3 < m) {
      *reinterpret_cast<float4*>(to) = make_float4(tile[y][x], tile[y + 1][x], tile[y + 2][x], tile[y + 3][x]);
    } else {
      for (int e = 0; e < 4; ++e)
        if (y0 + y + e < m) to[e] = tile[y + e][x];
    }
  }
}

/// c = the sum of the planes, in their order.
__global__ void add_planes(const float* planes, int count, size_t plane, int ld, float* c, int m, int n, int ldc) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  const size_t quads = size_t(m) * ld / 4;
  for (size_t q = blockIdx.x * size_t{blockDim.x} + threadIdx.x; q < quads; q += size_t{gridDim.x} * blockDim.x) {
    float4 sum = __ldcg(reinterpret_cast<const float4*>(planes) + q);
#pragma unroll 4
    for (int s = 1; s < count; ++s) {
      const float4 v = __ldcg(reinterpret_cast<const float4*>(planes + s * plane) + q);
      sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    const int row = q / (ld / 4), x = q % (ld / 4) * 4;
    const float out[4] = {sum.x, sum.y, sum.z, sum.w};
    for (int e = 0; e < 4; ++e)
      if (x + e < n) c[size_t(row) * ldc + x + e] = out[e];
  }
}

__global__ void align(const float* from, float* to, int rows, int columns, int ld_from, int ld_to) {
  for (int y = blockIdx.y; y < rows; y += gridDim.y)
    for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < columns; x += gridDim.x * blockDim.x)
      to[size_t(y) * ld_to + x] = from[size_t(y) * ld_from + x];
}

/// 64 independent chains a thread, each FFMA with two reads of registers: the rate that the lanes can give.
__global__ void __launch_bounds__(512, 1) fma_ceiling(float* out, int steps, float x, float y) {
  float v[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) v[i] = i + threadIdx.x;
#pragma unroll 1
  for (int s = 0; s < steps; ++s)
#pragma unroll
    for (int r = 0; r < 8; ++r)
#pragma unroll
      for (int i = 0; i < 64; ++i) v[i] = fmaf(v[i], x, y);
  float sum = 0;
  for (int i = 0; i < 64; ++i) sum += v[i];
  if (sum == 1.2345f) out[threadIdx.x] = sum;
}

struct Device {
  int sms;
  float *at, *bt, *partials;  // A transposed or with 16-byte lines; B with 16-byte lines
  unsigned* flags;
  long long* clocks;
  unsigned long long* wrong;
  unsigned epoch = 0;
  PFN_cuTensorMapEncodeTiled_v12000 encode;
  cudaStream_t stream;
  cublasHandle_t blas;
  cublasLtHandle_t lt;
  void* workspace;
};
Device device;

CUtensorMap tensor_map(const float* base, int width, int height, int pitch, int box_width, int box_height,
                       CUtensorMapSwizzle swizzle) {
  CUtensorMap map;
  const cuuint64_t size[2] = {cuuint64_t(width), cuuint64_t(height)}, stride[1] = {cuuint64_t(pitch) * 4};
  const cuuint32_t box[2] = {cuuint32_t(box_width), cuuint32_t(box_height)}, step[2] = {1, 1};
  CHECK(device.encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, const_cast<float*>(base), size, stride, box, step,
                      CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

using Launch = std::function<void()>;

struct Variant {
  std::string name;
  std::function<Launch(const Operands&)> prepare;
  std::string facts;
  bool own = true;
};

/// One variant on one problem: its kernel, after what it needs of A transposed and of lines of 16 bytes for TMA.
template <class C>
struct Run {
  Operands o;
  bool stream_k, split, turn_a, copy_a, copy_b;
  CUtensorMap a, b;

  Run(const Operands& operands, bool stream_k_, bool split_, bool given)
      : o(operands), stream_k(stream_k_), split(split_) {
    static_assert(C::BN <= 256 && C::BM <= 256, "a TMA box has at most 256 elements a side");
    turn_a = C::kA == ALayout::kTransposed;
    copy_a = !turn_a && o.lda % 4 != 0;
    copy_b = o.ldb % 4 != 0;
    if (turn_a)
      a = tensor_map(device.at, o.m, o.k, padded(o.m), C::BM, C::BK, CU_TENSOR_MAP_SWIZZLE_NONE);
    else
      a = tensor_map(copy_a ? device.at : o.a, o.k, o.m, copy_a ? padded(o.k) : o.lda, C::BK, C::BM,
                     C::BK == 32   ? CU_TENSOR_MAP_SWIZZLE_128B
                     : C::BK == 16 ? CU_TENSOR_MAP_SWIZZLE_64B
                                   : CU_TENSOR_MAP_SWIZZLE_32B);
    b = tensor_map(copy_b ? device.bt : o.b, o.n, o.k, copy_b ? padded(o.n) : o.ldb, C::BN, C::BK,
                   CU_TENSOR_MAP_SWIZZLE_NONE);
    if (given) {
      turn();
      turn_a = false;
    }
  }
  void turn() const {
    transpose<<<dim3((o.k + 63) / 64, (o.m + 63) / 64), 256, 0, device.stream>>>(o.a, device.at, o.m, o.k, o.lda,
                                                                                 padded(o.m));
  }
  void operator()() const {
    if (copy_a) align<<<dim3(16, 264), 256, 0, device.stream>>>(o.a, device.at, o.m, o.k, o.lda, padded(o.k));
    if (copy_b) align<<<dim3(16, 264), 256, 0, device.stream>>>(o.b, device.bt, o.k, o.n, o.ldb, padded(o.n));
    if (turn_a) turn();
    const int tiles = ((o.m + C::BM - 1) / C::BM) * ((o.n + C::BN - 1) / C::BN);
    const int k_tiles = (o.k + C::BK - 1) / C::BK, blocks = device.sms * C::kBlocksPerSm;
    const int splits = split ? std::max(1, std::min(blocks / tiles, k_tiles)) : 1;
    Problem p{o.c,
              o.m,
              o.n,
              o.k,
              o.ldc,
              1.0f,
              o.ldc % 4 == 0,
              stream_k,
              splits,
              0,
              device.partials,
              device.flags,
              ++device.epoch,
              device.clocks};
    if (splits > 1) p.c = device.partials, p.ldc = padded(o.n), p.quads = 1, p.plane = size_t(o.m) * p.ldc;
    cudaLaunchConfig_t config{};
    config.gridDim = splits > 1 ? tiles * splits : std::min(blocks, stream_k ? tiles * k_tiles : tiles);
    config.blockDim = C::kThreads;
    config.dynamicSmemBytes = C::kShared;
    config.stream = device.stream;
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &early;
    config.numAttrs = turn_a ? 1 : 0;
    CHECK(cudaLaunchKernelEx(&config, sgemm::sgemm_kernel<C>, a, b, p));
    if (splits > 1) {
      config.gridDim = device.sms;
      config.blockDim = 256;
      config.dynamicSmemBytes = 0;
      config.numAttrs = 1;
      CHECK(cudaLaunchKernelEx(&config, add_planes, static_cast<const float*>(device.partials), splits, p.plane, p.ldc,
                               o.c, o.m, o.n, o.ldc));
    }
    CHECK(cudaGetLastError());
  }
};

template <class C, bool kStreamK, bool kSplit = false, bool kGiven = false>
Launch prepare(const Operands& o) {
  return Run<C>(o, kStreamK, kSplit, kGiven);
}

template <class C>
void add(std::vector<Variant>& all, const std::string& name) {
  CHECK(cudaFuncSetAttribute(sgemm::sgemm_kernel<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kShared));
  cudaFuncAttributes f;
  CHECK(cudaFuncGetAttributes(&f, sgemm::sgemm_kernel<C>));
  int blocks = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sgemm::sgemm_kernel<C>, C::kThreads, C::kShared));
  if (blocks < C::kBlocksPerSm) {
    std::printf("%s: left out, only %d blocks fit on an SM\n", name.c_str(), blocks);
    return;
  }
  char facts[160];
  std::snprintf(facts, sizeof facts, "%dx%dx%d s%d %dx%d r%d t%d spill%d smem%dK", C::BM, C::BN, C::BK, C::kStages,
                C::TM, C::TN, f.numRegs, C::kThreads, int(f.localSizeBytes), C::kShared / 1024);
  all.push_back({name, prepare<C, false>, facts});
  all.push_back({name + "+sk", prepare<C, true>, facts});
  if (C::BM * C::BN <= 128 * 128) all.push_back({name + "+split", prepare<C, false, true>, facts});
  if (C::kA == ALayout::kTransposed &&
      kAlsoGiven)  // what the kernel alone takes, were A given transposed: no rival of cuBLAS's NN
    all.push_back({name + " A^T", prepare<C, false, false, true>, facts});
}

Launch prepare_cublas(const Operands& o) {
  return [=] {
    const float one = 1, zero = 0;
    CHECK(cublasSgemm(device.blas, CUBLAS_OP_N, CUBLAS_OP_N, o.n, o.m, o.k, &one, o.b, o.ldb, o.a, o.lda, &zero, o.c,
                      o.ldc));
  };
}

float milliseconds(const Launch& launch, int times = 1) {
  static cudaEvent_t start = nullptr, stop = nullptr;
  if (!start) {
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
  }
  CHECK(cudaEventRecord(start, device.stream));
  for (int i = 0; i < times; ++i) launch();
  CHECK(cudaEventRecord(stop, device.stream));
  CHECK(cudaEventSynchronize(stop));
  float ms;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  return ms / times;
}

double median(std::vector<float> x) {
  std::sort(x.begin(), x.end());
  return x.size() % 2 ? x[x.size() / 2] : (x[x.size() / 2 - 1] + x[x.size() / 2]) / 2.0;
}

/// The fastest (median of 3) of the first 8 algorithms that cublasLt proposes for pure FP32.
Launch prepare_lt(const Operands& o) {
  cublasLtMatmulDesc_t op;
  cublasLtMatrixLayout_t a, b, c;
  cublasLtMatmulPreference_t preference;
  CHECK(cublasLtMatmulDescCreate(&op, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  CHECK(cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, o.n, o.k, o.ldb));
  CHECK(cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, o.k, o.m, o.lda));
  CHECK(cublasLtMatrixLayoutCreate(&c, CUDA_R_32F, o.n, o.m, o.ldc));
  CHECK(cublasLtMatmulPreferenceCreate(&preference));
  CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
                                             sizeof kWorkspace));
  cublasLtMatmulHeuristicResult_t found[8];
  int count = 0;
  CHECK(cublasLtMatmulAlgoGetHeuristic(device.lt, op, a, b, c, c, preference, 8, found, &count));
  Launch best;
  double best_ms = 1e30;
  for (int h = 0; h < count; ++h) {
    const cublasLtMatmulAlgo_t algo = found[h].algo;
    const Launch launch = [=] {
      const float one = 1, zero = 0;
      CHECK(cublasLtMatmul(device.lt, op, &one, o.b, a, o.a, b, &zero, o.c, c, o.c, c, &algo, device.workspace,
                           kWorkspace, device.stream));
    };
    launch();
    std::vector<float> ms;
    for (int r = 0; r < 3; ++r) ms.push_back(milliseconds(launch, 2.0 * o.m * o.n * o.k < 5e9 ? 20 : 1));
    if (median(ms) < best_ms) best_ms = median(ms), best = launch;
  }
  if (!best) {
    std::printf("cublasLt proposes nothing; cuBLAS stands in for it\n");
    return prepare_cublas(o);
  }
  return best;
}

void randomise(const Operands& o) {
  fill<<<1024, 256, 0, device.stream>>>(o.a, size_t(o.m) * o.lda, 1);
  fill<<<1024, 256, 0, device.stream>>>(o.b, size_t(o.k) * o.ldb, 2);
  CHECK(cudaGetLastError());
}

unsigned long long count_wrong(const std::function<void()>& judge_it) {
  CHECK(cudaMemsetAsync(device.wrong, 0, 8, device.stream));
  judge_it();
  CHECK(cudaGetLastError());
  unsigned long long wrong;
  CHECK(cudaMemcpyAsync(&wrong, device.wrong, 8, cudaMemcpyDeviceToHost, device.stream));
  CHECK(cudaStreamSynchronize(device.stream));
  return wrong;
}

/// With lines of a multiple of 16 bytes, or tight ones.
Operands operands(float* a, float* b, float* c, int m, int n, int k, bool tight = false) {
  if (tight) return {m, n, k, k, n, n, a, b, c};
  return {m, n, k, padded(k), padded(n), padded(n), a, b, c};
}

/// False if the variant is wrong at one of the odd sizes, against float64, on poisoned C with watched padding.
bool right_at_odd_sizes(const Variant& v, float* a, float* b, float* c) {
  const int sizes[][3] = {{1, 1, 1}, {129, 257, 33}, {1003, 1037, 515}, {2305, 1795, 1031}, {4099, 3001, 37}};
  bool right = true;
  for (const auto& s : sizes) {
    for (const bool tight : {false, true}) {
      const Operands o = operands(a, b, c, s[0], s[1], s[2], tight);
      randomise(o);
      CHECK(cudaMemsetAsync(c, 0xFF, size_t(o.m) * o.ldc * 4, device.stream));
      v.prepare(o)();
      const auto wrong = count_wrong([&] { judge<<<2048, 256, 0, device.stream>>>(o, 1, device.wrong); });
      if (wrong != 0) {
        std::printf("WRONG %s at %dx%dx%d: %llu entries\n", v.name.c_str(), o.m, o.n, o.k, wrong);
        right = false;
      }
    }
  }
  return right;
}

struct Rate {
  double gflops = 0, clock_ghz = 0;
};

void start(size_t elements) {
  CHECK(cudaStreamCreate(&device.stream));
  CHECK(cudaDeviceGetAttribute(&device.sms, cudaDevAttrMultiProcessorCount, 0));
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", reinterpret_cast<void**>(&device.encode), 12000,
                                         cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) std::printf("no cuTensorMapEncodeTiled\n"), std::exit(1);
  const size_t blocks = device.sms * 2;
  CHECK(cudaMalloc(&device.at, elements * 4));
  CHECK(cudaMalloc(&device.bt, elements * 4));
  CHECK(cudaMalloc(&device.partials, blocks * 256 * 256 * 4));
  CHECK(cudaMalloc(&device.flags, blocks * 4));
  CHECK(cudaMemset(device.flags, 0, blocks * 4));
  CHECK(cudaMalloc(&device.clocks, 32));
  CHECK(cudaMalloc(&device.wrong, 8));
  CHECK(cudaMalloc(&device.workspace, kWorkspace));
  CHECK(cublasCreate(&device.blas));
  CHECK(cublasSetStream(device.blas, device.stream));
  CHECK(cublasSetWorkspace(device.blas, device.workspace, kWorkspace));
  CHECK(cublasSetMathMode(device.blas, CUBLAS_DEFAULT_MATH));
  CHECK(cublasLtCreate(&device.lt));
}

double ceiling_gflops() {
  const int steps = 4000;
  std::vector<float> ms;
  for (int r = 0; r < 7; ++r)
    ms.push_back(
        milliseconds([&] { fma_ceiling<<<device.sms, 512, 0, device.stream>>>(device.at, steps, 0.999f, 0.001f); }));
  CHECK(cudaGetLastError());
  return 2.0 * device.sms * 512 * steps * 8 * 64 / median(ms) * 1e-6;
}

struct Size {
  int m, n, k;
};
bool tight = true;

std::vector<Rate> time_all(const std::vector<Variant>& all, Size size, float* a, float* b, float* c, float* reference) {
  const Operands o = operands(a, b, c, size.m, size.n, size.k, tight);
  randomise(o);
  const Operands to_reference = operands(a, b, reference, size.m, size.n, size.k, tight);
  prepare_cublas(to_reference)();
  std::vector<Launch> launches;
  std::vector<bool> right;
  for (const Variant& v : all) {
    launches.push_back(v.prepare(o));
    CHECK(cudaMemsetAsync(c, 0xFF, size_t(o.m) * o.ldc * 4, device.stream));
    launches.back()();
    const auto wrong = count_wrong([&] {
      differ<<<2048, 256, 0, device.stream>>>(o, reference, 4 * o.k * 0x1p-24f, device.wrong);
      const int every = static_cast<int>(size_t(o.m) * o.ldc / 20000) * 2 + 1;
      judge<<<256, 128, 0, device.stream>>>(o, every, device.wrong);
    });
    if (wrong) std::printf("WRONG %s at %dx%dx%d: %llu entries\n", v.name.c_str(), o.m, o.n, o.k, wrong);
    right.push_back(wrong == 0);
  }
  std::vector<std::vector<float>> ms(all.size());
  std::vector<Rate> rates(all.size());
  for (int r = 0; r < rounds; ++r)
    for (size_t v = 0; v < all.size(); ++v) {
      if (!right[v]) continue;
      launches[v]();  // hot: the sample follows a run of the same kernel
      ms[v].push_back(milliseconds(launches[v], 2.0 * o.m * o.n * o.k < 5e9 ? 20 : 1));
      if (all[v].own && r == rounds - 1) {
        long long t[4];
        CHECK(cudaMemcpy(t, device.clocks, sizeof t, cudaMemcpyDeviceToHost));
        rates[v].clock_ghz = double(t[2] - t[0]) / double(t[3] - t[1]);
      }
    }
  for (size_t v = 0; v < all.size(); ++v)
    if (right[v]) rates[v].gflops = 2.0 * o.m * o.n * o.k / median(ms[v]) * 1e-6;
  return rates;
}

}  // namespace

/// Options: sizes=MxNxK,... rounds=R; one=NAME: only runs that variant a few times at the first size, for a profiler;
/// check=NAME: only checks it at the odd sizes; anything else: a part of the names of the variants wanted.
int main(int argc, char** argv) {
  std::vector<Size> sizes;
  std::vector<std::string> parts;
  std::string one, check;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.starts_with("sizes=")) {
      int m, n, k, used;
      for (const char* at = argv[i] + 6; std::sscanf(at, "%dx%dx%d%n", &m, &n, &k, &used) == 3;
           at += used + (at[used] == ','))
        sizes.push_back({m, n, k});
    } else if (arg.starts_with("rounds=")) {
      rounds = std::atoi(argv[i] + 7);
    } else if (arg == "given") {
      kAlsoGiven = true;
    } else if (arg.starts_with("one=")) {
      one = arg.substr(4);
    } else if (arg.starts_with("check=")) {
      check = arg.substr(6);
    } else {
      parts.push_back(arg);
    }
  }
  if (sizes.empty()) sizes = {{2048, 2048, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192}};
  size_t elements = 4200 * 4200;
  for (const Size& z : sizes)
    elements = std::max({elements, size_t(z.m) * padded(z.k), size_t(z.k) * padded(z.n), size_t(z.m) * padded(z.n),
                         size_t(z.k) * padded(z.m)});
  start(elements);
  float *a, *b, *c, *reference;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  for (float** x : {&a, &b, &c, &reference}) CHECK(cudaMalloc(x, elements * 4));

  std::vector<Variant> own;
#define ADD(name) add<sgemm::name>(own, #name);
  VARIANTS(ADD)
  if (!check.empty()) {
    for (const Variant& v : own)
      if (v.name == check) return right_at_odd_sizes(v, a, b, c) ? 0 : 1;
    return 2;
  }
  std::vector<Variant> all;
  all.push_back({"cublas", prepare_cublas, "", false});
  all.push_back({"cublasLt", prepare_lt, "best of 8", false});
  if (!one.empty()) {
    all.insert(all.end(), own.begin(), own.end());
    const Operands o = operands(a, b, c, sizes[0].m, sizes[0].n, sizes[0].k);
    randomise(o);
    for (const Variant& v : all)
      if (v.name == one)
        for (const Launch launch = v.prepare(o); rounds > 0; --rounds) launch();
    CHECK(cudaDeviceSynchronize());
    return 0;
  }
  bool every_right = true;
  for (const Variant& v : own) {
    bool wanted = parts.empty();
    for (const std::string& part : parts) wanted = wanted || v.name.find(part) != std::string::npos;
    if (!wanted) continue;
    // Each in a process of its own with a time limit: a kernel that hangs or faults must not end the others.
    std::fflush(stdout);
    const std::string command = "timeout 30 '" + std::string(argv[0]) + "' given 'check=" + v.name + "'";
    const int status = std::system(command.c_str());
    if (status == 0) {
      all.push_back(v);
    } else {
      std::printf("WRONG %s: its check ended with %d (31744: it hung)\n", v.name.c_str(), status);
      every_right = false;
    }
  }
  std::printf("checked %zu variants against float64 at 5 odd sizes: %s\n", all.size() - 2,
              every_right ? "all right" : "these right, others WRONG");
  std::printf("FMA ceiling before: %.0f GFLOP/s\n", ceiling_gflops());
  std::vector<std::vector<Rate>> rates;
  for (const Size& size : sizes) rates.push_back(time_all(all, size, a, b, c, reference));
  std::printf("FMA ceiling after:  %.0f GFLOP/s\n", ceiling_gflops());
  std::printf("GFLOP/s (x better cuBLAS, lanes used %% at GHz)");
  for (const Size& z : sizes) std::printf(" | %dx%dx%d", z.m, z.n, z.k);
  std::printf("\n");
  for (size_t v = 0; v < all.size(); ++v) {
    std::printf("%-20s", all[v].name.c_str());
    for (const auto& r : rates) {
      const double base = std::max(r[0].gflops, r[1].gflops), ghz = r[v].clock_ghz;
      std::printf(" | %6.0f (%.3f", r[v].gflops, r[v].gflops / base);
      if (ghz > 0) std::printf(", %4.1f%% at %.2f", r[v].gflops / (device.sms * 256 * ghz) * 100, ghz);
      std::printf(")");
    }
    std::printf(" | %s\n", all[v].facts.c_str());
  }
  return every_right ? 0 : 1;
}
