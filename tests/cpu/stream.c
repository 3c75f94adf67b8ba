/* The four kernels of STREAM, written afresh to the rules of McCalpin's benchmark: arrays of float64 of at least four
 * times all caches, static OpenMP loops over plain C, the best of the repetitions without the first, decimal megabytes,
 * and no count of what a store fetches before it overwrites. In huge pages where the system has them for the asking.
 * A reference for cpu/triad, with nothing of it in common: not a line, not the type of the elements.
 *
 *   stream ELEMENTS [REPETITIONS]      elements of each of the three arrays; 20 repetitions
 *
 * Prints a line "Triad: RATE MB/s" for each kernel. Ends with 1 if the arrays do not hold what they should, with 2 for
 * wrong usage or too little memory.
 * Source: McCalpin, Memory Bandwidth and Machine Balance in Current High Performance Computers (1995).
 */
#define _DEFAULT_SOURCE
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

enum { COPY, SCALE, ADD, TRIAD, KERNELS };

static const char* const names[KERNELS] = {"Copy", "Scale", "Add", "Triad"};
static const int arrays_moved[KERNELS] = {2, 2, 3, 3};

/* Seconds that one kernel took. */
static double run(int kernel, double* restrict a, double* restrict b, double* restrict c, double factor, long n) {
  const double start = omp_get_wtime();
  switch (kernel) {
    case COPY:
#pragma omp parallel for schedule(static)
      for (long i = 0; i < n; ++i) c[i] = a[i];
      break;
    case SCALE:
#pragma omp parallel for schedule(static)
      for (long i = 0; i < n; ++i) b[i] = factor * c[i];
      break;
    case ADD:
#pragma omp parallel for schedule(static)
      for (long i = 0; i < n; ++i) c[i] = a[i] + b[i];
      break;
    default:
#pragma omp parallel for schedule(static)
      for (long i = 0; i < n; ++i) a[i] = b[i] + factor * c[i];
  }
  return omp_get_wtime() - start;
}

/* Elements that are not what `repetitions` rounds on one element give. */
static long wrong(const double* a, const double* b, const double* c, double factor, long n, int repetitions) {
  double x = 1, y = 2, z = 0;
  for (int r = 0; r < repetitions; ++r) {
    z = x;
    y = factor * z;
    z = x + y;
    x = y + factor * z;
  }
  long count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
  for (long i = 0; i < n; ++i)
    count += !(fabs(a[i] - x) <= 1e-12 * x && fabs(b[i] - y) <= 1e-12 * y && fabs(c[i] - z) <= 1e-12 * z);
  return count;
}

/* An array of n elements that no thread has touched yet; null if there is no memory. */
static double* allocate(long n) {
  const size_t page = (size_t)2 << 20, bytes = ((size_t)n * sizeof(double) + page - 1) / page * page;
  double* array = aligned_alloc(page, bytes);
#ifdef MADV_HUGEPAGE
  if (array) madvise(array, bytes, MADV_HUGEPAGE);
#endif
  return array;
}

int main(int argc, char** argv) {
  const long n = argc > 1 ? atol(argv[1]) : 0;
  const int repetitions = argc > 2 ? atoi(argv[2]) : 20;
  if (argc > 3 || n < 1 || repetitions < 2 || repetitions > 100) {
    fprintf(stderr, "usage: stream ELEMENTS [REPETITIONS from 2 to 100]\n");
    return 2;
  }
  double *a = allocate(n), *b = allocate(n), *c = allocate(n);
  if (!a || !b || !c) {
    fprintf(stderr, "stream: no memory for three arrays of %ld elements\n", n);
    return 2;
  }
  const double factor = 0.4; /* 0.4 + 0.4 (1 + 0.4) = 0.96: the numbers stay in range */
#pragma omp parallel for schedule(static)
  for (long i = 0; i < n; ++i) a[i] = 1, b[i] = 2, c[i] = 0; /* each thread touches its own part first */

  double best[KERNELS] = {INFINITY, INFINITY, INFINITY, INFINITY};
  for (int r = 0; r < repetitions; ++r)
    for (int kernel = 0; kernel < KERNELS; ++kernel) {
      const double seconds = run(kernel, a, b, c, factor, n);
      if (r > 0 && seconds < best[kernel]) best[kernel] = seconds;
    }
  for (int kernel = 0; kernel < KERNELS; ++kernel)
    printf("%s: %.1f MB/s\n", names[kernel], 1e-6 * arrays_moved[kernel] * sizeof(double) * n / best[kernel]);
  const long errors = wrong(a, b, c, factor, n, repetitions);
  if (errors) fprintf(stderr, "stream: %ld elements are wrong\n", errors);
  free(a), free(b), free(c);
  return errors ? 1 : 0;
}
