// The lecture's shuffle of values: each thread of N/256 blocks of 256 stores one element, new_array[i].
constexpr int N = 1024, threads = 256;

constexpr bool each_element_is_stored_once() {
  int stores[N] = {};
  for (int block = 0; block < N / threads; ++block)
    for (int thread = 0; thread < threads; ++thread) ++stores[thread + threads * block];
  for (int i = 0; i < N; ++i)
    if (stores[i] != 1) return false;
  return true;
}
static_assert(each_element_is_stored_once());
