// The course's example, its statements for all threads one after another as its barriers have it: array[i] *= i - 1?
constexpr int kThreads = 40;

constexpr bool has_the_effect(int first) {
  int array[kThreads + 1] = {}, x[kThreads] = {};
  for (int i = 0; i <= kThreads; ++i) array[i] = 7 * i + 3;
  for (int i = 0; i < kThreads; ++i) x[i] = array[i];
  for (int i = 0; i < kThreads; ++i) array[i + 1] = i;
  for (int i = 0; i < kThreads; ++i) array[i] = x[i] * array[i];
  for (int i = first; i < kThreads; ++i)
    if (array[i] != (7 * i + 3) * (i - 1)) return false;
  return true;
}

#ifdef MENDED
static_assert(has_the_effect(1));
#else
static_assert(has_the_effect(0));
#endif
