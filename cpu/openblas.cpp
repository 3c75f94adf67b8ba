/// OpenBLAS's matrix product in single precision.
#include "cpu/openblas.hpp"

#include <cblas.h>
#include <omp.h>
#include <sched.h>

#include <vector>

namespace rung {
namespace {

/// Sets the number of threads of OpenBLAS. If it is built on pthreads, its threads inherit the affinity of the calling
/// thread; where OpenMP binds threads, that is a single place, which all would share. So the binding of this thread is
/// removed while they start.
void use_threads(int threads) {
  cpu_set_t bound, everywhere;
  CPU_ZERO(&everywhere);
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> processors(omp_get_place_num_procs(place));
    omp_get_place_proc_ids(place, processors.data());
    for (const int processor : processors) CPU_SET(processor, &everywhere);
  }
  const bool was_bound = CPU_COUNT(&everywhere) > 0 && sched_getaffinity(0, sizeof bound, &bound) == 0;
  if (was_bound) sched_setaffinity(0, sizeof everywhere, &everywhere);
  openblas_set_num_threads(threads);
  if (was_bound) sched_setaffinity(0, sizeof bound, &bound);
}

}  // namespace

// The header's text has blanks around it.
std::string openblas_name() {
  const std::string text = OPENBLAS_VERSION;
  const std::size_t start = text.find_first_not_of(' ');
  return text.substr(start, text.find_last_not_of(' ') + 1 - start);
}

std::string refuse_openblas() { return ""; }

void matmul_openblas(const Matmul<>& it) {
  if (it.alpha == 0) return scale_output(it);  // some versions compute 0 times A B, which is NaN where A has one
  const int threads = omp_get_max_threads();
  if (openblas_get_num_threads() != threads) use_threads(threads);
  if (const int used = openblas_get_num_threads(); used != threads)
    throw Error("OpenBLAS uses " + std::to_string(used) + " threads, not " + std::to_string(threads));
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, it.m, it.n, it.k, it.alpha, it.a, static_cast<int>(it.lda),
              it.b, static_cast<int>(it.ldb), it.beta, it.c, static_cast<int>(it.ldc));
}

}  // namespace rung
