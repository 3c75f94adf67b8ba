/// cublasLt behind one function. Its choice is cached for each shape; handle and workspace are never freed, as in
/// cublas.cpp.
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/machine/target.hpp"
#include "gpu/host/cuda_error.hpp"
#include "gpu/host/cuda_type.hpp"
#include "gpu/host/point_marker.hpp"
#include "gpu/host/stopwatch.hpp"
#include "gpu/simt/cublas.hpp"

namespace rung {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;
constexpr int kProposals = 16;
constexpr std::uint32_t kMostAlignment = 256;  // bytes; cublasLt's own default

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH)
    throw LaunchRefused("cublasLt has no kernel for this product");
  throw Error(std::string("cublasLt, ") + what + ": " + cublasGetStatusString(status));
}

/// The largest power of two, up to kMostAlignment, that divides an address.
std::uint32_t alignment_of(const void* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  return address == 0 ? kMostAlignment : std::min(kMostAlignment, 1u << std::min(8, std::countr_zero(address)));
}

struct Library {
  cublasLtHandle_t handle = nullptr;
  void* workspace = nullptr;

  Library() {
    check(cublasLtCreate(&handle), "create");
    check_cuda(cudaMalloc(&workspace, kWorkspaceBytes), "cublasLt workspace of 64 MiB");
  }
};

Library& library() {
  static auto* const made = new Library;
  return *made;
}

/// A request to cublasLt: type of the inputs, shape, leading dimensions, alignments of A, B and C, whether C is read,
/// and the layout.
using Question = std::array<std::int64_t, 12>;

Question question_of(const Matmul<void, void>& it, Type type) {
  return {static_cast<std::int64_t>(type),
          it.m,
          it.n,
          it.k,
          it.lda,
          it.ldb,
          it.ldc,
          alignment_of(it.a),
          alignment_of(it.b),
          alignment_of(it.c),
          it.beta != 0,
          static_cast<std::int64_t>(it.layout)};
}

/// A product as cublasLt sees it, transposed: C^T = B^T A^T, column-major.
class Described {
 public:
  Described(const Matmul<void, void>& it, Type type) : type_(type) {
    const bool a_by_columns = has_a_by_columns(it.layout), b_by_columns = has_b_by_columns(it.layout);
    const cudaDataType output = type == Type::int8 ? CUDA_R_32I : CUDA_R_32F;
    check(cublasLtMatmulDescCreate(&operation_, compute_type(type), output), "describe");
    // cublasLt sees a matrix stored by columns as A or B itself, but its product needs A^T and B^T.
    if (b_by_columns) transpose(CUBLASLT_MATMUL_DESC_TRANSA, "B");
    if (a_by_columns) transpose(CUBLASLT_MATMUL_DESC_TRANSB, "A");
    describe(a_, a_by_columns, it.m, it.k, it.lda, "A");
    describe(b_, b_by_columns, it.k, it.n, it.ldb, "B");
    check(cublasLtMatrixLayoutCreate(&c_, output, it.n, it.m, it.ldc), "describe C");
  }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
  ~Described() {
    cublasLtMatrixLayoutDestroy(c_);
    cublasLtMatrixLayoutDestroy(b_);
    cublasLtMatrixLayoutDestroy(a_);
    cublasLtMatmulDescDestroy(operation_);
  }

  std::vector<cublasLtMatmulAlgo_t> proposals(const Matmul<void, void>& it) const;

  void run(const Matmul<void, void>& it, void* c, const cublasLtMatmulAlgo_t& algorithm, cudaStream_t stream) const {
    const Factors factors(it, type_);
    check(cublasLtMatmul(library().handle, operation_, factors.alpha(), it.b, b_, it.a, a_, factors.beta(), c, c_, c,
                         c_, &algorithm, library().workspace, kWorkspaceBytes, stream),
          "multiply");
  }

 private:
  void transpose(cublasLtMatmulDescAttributes_t which, const std::string& name) {
    const cublasOperation_t transposed = CUBLAS_OP_T;
    check(cublasLtMatmulDescSetAttribute(operation_, which, &transposed, sizeof transposed),
          ("transpose " + name).c_str());
  }
  void describe(cublasLtMatrixLayout_t& matrix, bool by_columns, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                const std::string& name) {
    if (by_columns) std::swap(rows, cols);
    check(cublasLtMatrixLayoutCreate(&matrix, cuda_type(type_), cols, rows, ld), ("describe " + name).c_str());
  }

  Type type_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
};

std::vector<cublasLtMatmulAlgo_t> Described::proposals(const Matmul<void, void>& it) const {
  cublasLtMatmulPreference_t made = nullptr;
  check(cublasLtMatmulPreferenceCreate(&made), "make a preference");
  const std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>, decltype(&cublasLtMatmulPreferenceDestroy)>
      preference(made, cublasLtMatmulPreferenceDestroy);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
    check(cublasLtMatmulPreferenceSetAttribute(made, which, &value, sizeof value), "set a preference");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(it.b));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(it.a));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(it.c));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(it.c));
  std::array<cublasLtMatmulHeuristicResult_t, kProposals> found{};
  int count = 0;
  check(cublasLtMatmulAlgoGetHeuristic(library().handle, operation_, b_, a_, c_, c_, made, kProposals, found.data(),
                                       &count),
        "ask the heuristics");
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; i < count; ++i)
    if (found[i].state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(found[i].algo);
  return algorithms;
}

/// Seconds per run: the least of three intervals of several runs, after an untimed one.
double seconds_of(const std::function<void()>& run, double flops, cudaStream_t stream) {
  Stopwatch watch;
  const int runs = flops < 5e9 ? 20 : 2;
  double least = std::numeric_limits<double>::infinity();
  run();
  for (int i = 0; i < 3; ++i) {
    watch.start(stream);
    for (int j = 0; j < runs; ++j) run();
    watch.stop(stream);
    least = std::min(least, watch.seconds() / runs);
  }
  return least;
}

/// Memory for a C that is never read, with C's alignment.
class OtherC {
 public:
  explicit OtherC(const Matmul<void, void>& it) {
    check_cuda(cudaMalloc(&memory_, it.m * it.ldc * sizeof(float) + kMostAlignment),
               "a C for trying cublasLt's kernels");
    check_cuda(cudaMemset(memory_, 0, it.m * it.ldc * sizeof(float) + kMostAlignment), "clearing it");
    check_cuda(cudaDeviceSynchronize(), "clearing it");
    c_ = static_cast<float*>(memory_) + alignment_of(it.c) % kMostAlignment / sizeof(float);
  }
  OtherC(const OtherC&) = delete;
  OtherC& operator=(const OtherC&) = delete;
  ~OtherC() { cudaFree(memory_); }
  float* c() const { return c_; }

 private:
  void* memory_ = nullptr;
  float* c_ = nullptr;
};

struct Chosen {
  Described described;
  cublasLtMatmulAlgo_t algorithm{};

  Chosen(const Matmul<void, void>& it, Type type, cudaStream_t stream) : described(it, type) {
    const Unwatched while_trying;
    const OtherC other(it);
    double least = std::numeric_limits<double>::infinity();
    for (const cublasLtMatmulAlgo_t& proposal : described.proposals(it)) {
      const double seconds =
          seconds_of([&] { described.run(it, other.c(), proposal, stream); }, matmul_flops({it.m, it.n, it.k}), stream);
      if (seconds < least) least = seconds, algorithm = proposal;
    }
    if (least == std::numeric_limits<double>::infinity())
      throw LaunchRefused("cublasLt proposes no algorithm for this product");
  }
};

}  // namespace

void cublaslt_matmul(const Call& call, const Matmul<void, void>& it, Type type) {
  static auto* const known = new std::map<Question, std::unique_ptr<Chosen>>;
  auto* stream = static_cast<cudaStream_t>(call.stream);
  auto& chosen = (*known)[question_of(it, type)];
  if (!chosen) chosen = std::make_unique<Chosen>(it, type, stream);
  chosen->described.run(it, it.c, chosen->algorithm, stream);
}

}  // namespace rung
