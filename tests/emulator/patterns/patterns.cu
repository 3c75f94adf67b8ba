#include <algorithm>
#include <utility>

#include "common/problem/problem.hpp"
#include "gpu/simt/simt.hpp"
#include "tests/emulator/patterns/patterns.hpp"

namespace rung {
namespace {

// ---- Kernels. A thread's word is the element that it accesses; a negative one switches it off. ----

template <typename T>
__global__ void loads(const mem<int>* words, mem<T>* data, mem<T>* out) {
  const int i = words[threadIdx.x];
  if (i >= 0) out[threadIdx.x] = data[i];
}

template <typename T>
__global__ void stores(const mem<int>* words, mem<T>* data, mem<T>* out) {
  const int i = words[threadIdx.x];
  if (i >= 0) data[i] = out[threadIdx.x];
}

constexpr int kTileBytes = 16384;

template <typename T>
__global__ void shared(const mem<int>* words, mem<T>* data, mem<T>* out) {
  __shared__ __align__(16) mem<T> tile[kTileBytes / sizeof(T)];
  const int i = words[threadIdx.x];
  if (i >= 0) tile[i] = data[threadIdx.x];
  __syncthreads();
  if (i >= 0) out[threadIdx.x] = tile[i];
}

/// Copies from one element to another: the second word of each thread.
template <typename T>
__global__ void copies(const mem<int>* words, mem<T>* data, mem<T>* out) {
  __shared__ __align__(16) mem<T> tile[kTileBytes / sizeof(T)];
  const int from = words[threadIdx.x], to = words[blockDim.x + threadIdx.x];
  if (from >= 0) __pipeline_memcpy_async(&tile[to], &data[from], sizeof(T));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (from >= 0) out[threadIdx.x] = tile[to];
}

// Atomics; `v` is not known to the compiler. The result is used only if the name has "returned".
#define RUNG_OP(name, type, result, ...)                                                           \
  struct name {                                                                                    \
    using Type = type;                                                                             \
    __device__ __forceinline__ reg<type> operator()(mem<type>* p, [[maybe_unused]] type v) const { \
      __VA_ARGS__;                                                                                 \
      return result;                                                                               \
    }                                                                                              \
  };
RUNG_OP(AddInt, int, v, atomicAdd(p, v))
RUNG_OP(AddOne, int, v, atomicAdd(p, 1))
RUNG_OP(AddIntReturned, int, old, const int old = atomicAdd(p, v))
RUNG_OP(AddOneReturned, int, old, const int old = atomicAdd(p, 1))
RUNG_OP(SubInt, int, v, atomicSub(p, v))
RUNG_OP(MaxInt, int, v, atomicMax(p, v))
RUNG_OP(MaxIntReturned, int, old, const int old = atomicMax(p, v))
RUNG_OP(OrInt, int, v, atomicOr(p, v))
RUNG_OP(Exchange, int, v, atomicExch(p, v))
RUNG_OP(ExchangeReturned, int, old, const int old = atomicExch(p, v))
RUNG_OP(CompareReturned, int, old, const int old = atomicCAS(p, 0, v))
RUNG_OP(Increment, unsigned, v, atomicInc(p, 1000 + v))
RUNG_OP(AddLong, unsigned long long, v, atomicAdd(p, v))
RUNG_OP(MaxLong, unsigned long long, v, atomicMax(p, v))
RUNG_OP(CompareLongReturned, unsigned long long, old, const unsigned long long old = atomicCAS(p, 0ull, v))
RUNG_OP(ExchangeLong, unsigned long long, v, atomicExch(p, v))
RUNG_OP(AddFloat, float, v, atomicAdd(p, v))
RUNG_OP(AddFloatReturned, float, old, const reg<float> old = atomicAdd(p, v))
RUNG_OP(AddDouble, double, v, atomicAdd(p, v))
RUNG_OP(AddDoubleReturned, double, old, const reg<double> old = atomicAdd(p, v))
RUNG_OP(VolatileLoad, int, old, const volatile mem<int>* const flag = p; const int old = *flag + v)
#undef RUNG_OP

/// Adds one by attempts to replace what was read before.
struct AddByAttempts {
  using Type = int;
  __device__ __forceinline__ int operator()(mem<int>* p, int v) const {
    int old = *p, seen;
    do {
      seen = old;
      old = atomicCAS(p, seen, seen + v);
    } while (old != seen);
    return v;
  }
};

/// Takes a lock, changes what it guards, and gives it back.
struct AddUnderLock {
  using Type = int;
  __device__ __forceinline__ int operator()(mem<int>* p, int v) const {
    bool is_done = false;
    while (!is_done)
      if (atomicCAS(p, 0, v) == 0) {
        is_done = true;
        atomicExch(p, 0);
      }
    return v;
  }
};

template <typename Op, typename T = typename Op::Type>
__global__ void global_atomics(const mem<int>* words, mem<T>* data, mem<T>* out) {
  const int i = words[threadIdx.x];
  if (i >= 0) out[threadIdx.x] = Op{}(&data[i], static_cast<T>(threadIdx.x + 1));
}

template <typename Op, typename T = typename Op::Type>
__global__ void shared_atomics(const mem<int>* words, mem<T>*, mem<T>* out) {
  __shared__ __align__(16) mem<T> tile[kTileBytes / sizeof(T)];
  const int i = words[threadIdx.x];
  if (i >= 0) tile[i] = 0;
  __syncthreads();
  if (i >= 0) out[threadIdx.x] = Op{}(&tile[i], static_cast<T>(threadIdx.x + 1));
}

constexpr int kSteps = 4;

/// In branches that some lanes take, each followed by what all do.
template <typename Op, typename T = typename Op::Type>
__global__ void branches(const mem<int>* words, mem<T>* data, mem<T>* out) {
  for (int step = 0; step < kSteps; ++step) {
    const int thread = step * blockDim.x + threadIdx.x, i = words[thread];
    reg<T> value = 0;
    if (i >= 0) value = Op{}(&data[i], static_cast<T>(threadIdx.x));
    out[thread] = value;
  }
}

/// In a loop that each lane leaves at its own time.
template <typename Op, typename T = typename Op::Type>
__global__ void loops(const mem<int>* words, mem<T>* data, mem<T>* out) {
  const int i = words[threadIdx.x];
  reg<T> value = 0;
#pragma unroll 1
  for (int round = 0; round < i; ++round) value = Op{}(&data[i + 8 * round], static_cast<T>(threadIdx.x));
  out[threadIdx.x] = value;
}

enum class Formula {
  named_product,
  product_twice,
  product_stored,
  times_two,
  two_times,
  times_two_plus,
  times_two_minus,
  times_two_times,
  product_times_two,
  update_by_two,
  times_one,
  times_one_plus,
  times_minus_one,
  times_four,
  times_half,
  times_three,
  over_four,
  over_two_plus,
  over_minus_two,
  over_one,
  update_over_two,
};

template <typename T, Formula kFormula>
__global__ void arithmetic(const mem<int>* words, mem<T>* data, mem<T>* out) {
  const int i = words[threadIdx.x];
  const mem<T>*const second = data + i + 32, *const third = data + i + 64;
  const reg<T> a = data[i];
  constexpr T one = 1, two = 2, three = 3, four = 4, half = 0.5;
  reg<T> x = a;
  using enum Formula;
  if constexpr (kFormula == named_product) {
    const reg<T> b = *second;
    const reg<T> c = *third;
    const reg<T> p = a * b;
    x = p + c;
  } else if constexpr (kFormula == product_twice) {
    const reg<T> b = *second;
    const reg<T> c = *third;
    const reg<T> p = a * b;
    out[i + 32] = p - c;
    x = p + c;
  } else if constexpr (kFormula == product_stored) {
    const reg<T> b = *second;
    const reg<T> c = *third;
    const reg<T> p = a * b;
    out[i + 32] = p;
    x = p + c;
  } else if constexpr (kFormula == times_two) {
    x = a * two;
  } else if constexpr (kFormula == two_times) {
    x = two * a;
  } else if constexpr (kFormula == times_two_plus) {
    const reg<T> c = *third;
    x = a * two + c;
  } else if constexpr (kFormula == times_two_minus) {
    const reg<T> c = *third;
    x = a - two * c;
  } else if constexpr (kFormula == times_two_times) {
    const reg<T> b = *second;
    x = a * two * b;
  } else if constexpr (kFormula == product_times_two) {
    const reg<T> b = *second;
    x = (a * b) * two;
  } else if constexpr (kFormula == update_by_two) {
    x *= two;
  } else if constexpr (kFormula == times_one) {
    x = a * one;
  } else if constexpr (kFormula == times_one_plus) {
    const reg<T> c = *third;
    x = a * one + c;
  } else if constexpr (kFormula == times_minus_one) {
    x = a * -one;
  } else if constexpr (kFormula == times_four) {
    x = a * four;
  } else if constexpr (kFormula == times_half) {
    x = a * half;
  } else if constexpr (kFormula == times_three) {
    x = a * three;
  } else if constexpr (kFormula == over_four) {
    x = a / four;
  } else if constexpr (kFormula == over_two_plus) {
    const reg<T> c = *third;
    x = a / two + c;
  } else if constexpr (kFormula == over_minus_two) {
    x = a / -two;
  } else if constexpr (kFormula == over_one) {
    x = a / one;
  } else if constexpr (kFormula == update_over_two) {
    x /= two;
  }
  out[i] = x;
}

// ---- Random numbers ----

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  int below(int n) { return static_cast<int>(random_bits(seed_, drawn_++) % static_cast<std::uint64_t>(n)); }
  std::uint32_t bits() { return static_cast<std::uint32_t>(random_bits(seed_, drawn_++)); }

 private:
  std::uint64_t seed_, drawn_ = 0;
};

using Words = std::vector<std::int32_t>;

/// A power of two up to `most`, each as likely.
int power_up_to(Draw& draw, int most) {
  int powers = 1;
  while (1 << powers <= most) ++powers;
  return 1 << draw.below(powers);
}

/// One regular or random shape, for lane 0, 1 …
Words shape(Draw& draw, int lanes, int elements) {
  Words all(static_cast<std::size_t>(lanes));
  const int kind = draw.below(9), span = power_up_to(draw, elements), first = draw.below(elements);
  const int stride = draw.below(2) ? power_up_to(draw, 64) : 1 + draw.below(40), divisor = power_up_to(draw, 32);
  const int modulus = 1 + draw.below(32), flipped = draw.below(32);
  Words few(static_cast<std::size_t>(1 + draw.below(8)));
  for (auto& element : few) element = draw.below(span);
  Words by_lane(32);
  for (auto& element : by_lane) element = draw.below(span);
  for (int lane = 0; lane < lanes; ++lane) {
    const int own = lane % 32;
    const int drawn[] = {draw.below(span),
                         lane * stride,
                         own / divisor % modulus * stride,
                         own ^ flipped,
                         few[static_cast<std::size_t>(draw.below(static_cast<int>(few.size())))],
                         by_lane[static_cast<std::size_t>(own / 2)],
                         by_lane[static_cast<std::size_t>(own & ~2)],
                         by_lane[static_cast<std::size_t>(own / 4)],
                         by_lane[static_cast<std::size_t>(own % 4)]};
    all[static_cast<std::size_t>(lane)] = (first + drawn[kind]) % elements;
  }
  return all;
}

/// A shape, or another one for each part of the lanes.
Words elements_of(Draw& draw, int lanes, int elements) {
  Words all = shape(draw, lanes, elements);
  if (draw.below(3) == 0)
    for (const int part = 4 << draw.below(3); const int begin : {part, 2 * part, 3 * part}) {
      const Words other = shape(draw, lanes, elements);
      for (int lane = begin; lane < std::min(lanes, begin + part); ++lane)
        all[static_cast<std::size_t>(lane)] = other[static_cast<std::size_t>(lane)];
    }
  return all;
}

/// Switches some lanes off, in half of the patterns.
void mask(Draw& draw, Words& words) {
  const int kind = draw.below(8);
  if (kind < 4) return;
  const std::uint32_t random = draw.bits(), prefix = (2u << draw.below(32)) - 1, few = draw.bits() & draw.bits();
  const std::uint32_t kept[] = {random, prefix, few | 1, draw.below(2) ? 0x0000ffffu : 0xf0f0f0f0u};
  for (std::size_t i = 0; i < words.size(); ++i)
    if (!(kept[kind - 4] >> i % 32 & 1)) words[i] = -1;
}

// ---- The list ----

class List {
 public:
  template <typename T>
  void add(const std::string& name, void (*kernel)(const mem<int>*, mem<T>*, mem<T>*), unsigned threads, Words words) {
    all.push_back({name + "/" + std::to_string(numbers_[name]++), threads, std::move(words), [=](const Call& call) {
                     launch(call, kernel, call.operand<const mem<int>>(0), call.operand<mem<T>>(1),
                            call.operand<mem<T>>(2));
                   }});
  }

  std::vector<Pattern> all;

 private:
  std::map<std::string, int> numbers_;
};

/// Whole warps, mostly a single one.
unsigned drawn_threads(Draw& draw) {
  const int kind = draw.below(16);
  return kind == 0 ? static_cast<unsigned>(1 + draw.below(31)) : kind == 1 ? 96 : 32;
}

template <typename T>
void add_accesses(List& list, const std::string& name, void (*kernel)(const mem<int>*, mem<T>*, mem<T>*), int patterns,
                  std::size_t bytes) {
  Draw draw(list.all.size());
  for (int i = 0; i < patterns; ++i) {
    const unsigned threads = drawn_threads(draw);
    Words words = elements_of(draw, static_cast<int>(threads), static_cast<int>(bytes / sizeof(T)));
    mask(draw, words);
    list.add(name, kernel, threads, std::move(words));
  }
}

template <typename T>
void add_width(List& list, int shared_patterns) {
  const std::string width = std::to_string(sizeof(T));
  add_accesses(list, "load_" + width, loads<T>, 12, kPatternBytes);
  add_accesses(list, "store_" + width, stores<T>, 12, kPatternBytes);
  add_accesses(list, "shared_" + width, shared<T>, shared_patterns, kTileBytes);
}

template <typename T>
void add_copies(List& list, int patterns) {
  Draw draw(list.all.size());
  for (int i = 0; i < patterns; ++i) {
    const unsigned threads = drawn_threads(draw);
    Words words = elements_of(draw, static_cast<int>(threads), kPatternBytes / sizeof(T));
    mask(draw, words);
    const bool is_in_order = draw.below(2) == 0;
    const Words to = elements_of(draw, static_cast<int>(threads), kTileBytes / sizeof(T));
    for (unsigned t = 0; t < threads; ++t) words.push_back(is_in_order ? static_cast<int>(t) : to[t]);
    list.add("copy_" + std::to_string(sizeof(T)), copies<T>, threads, std::move(words));
  }
}

/// Mostly few elements, that lanes share.
template <typename Op>
void add_atomics(List& list, const std::string& name, int patterns) {
  using T = typename Op::Type;
  Draw draw(list.all.size());
  for (int i = 0; i < patterns; ++i)
    for (const bool is_shared : {false, true}) {
      const unsigned threads = drawn_threads(draw) % 96 ? 32 : 1 + static_cast<unsigned>(draw.below(32));
      const std::size_t most = (is_shared ? kTileBytes : kPatternBytes) / sizeof(T);
      const int elements = draw.below(4) == 0 ? static_cast<int>(most) : 1 << draw.below(11);
      Words words = elements_of(draw, static_cast<int>(threads), elements);
      mask(draw, words);
      if (is_shared)
        list.add("shared_" + name, shared_atomics<Op>, threads, std::move(words));
      else
        list.add("global_" + name, global_atomics<Op>, threads, std::move(words));
    }
}

/// Elements that are all as likely, as in a histogram.
template <typename Op>
void add_spread(List& list, const std::string& name, int patterns) {
  Draw draw(list.all.size());
  for (int i = 0; i < patterns; ++i) {
    const int elements = 32 << draw.below(8);
    Words words(32);
    for (auto& word : words) word = draw.below(elements);
    list.add("global_" + name, global_atomics<Op>, 32, std::move(words));
  }
}

template <typename Op>
void add_branches(List& list, const std::string& name, int patterns) {
  Draw draw(list.all.size());
  for (int i = 0; i < patterns; ++i) {
    const unsigned threads = i % 4 == 3 ? 96 : 32;
    Words words;
    for (int step = 0; step < kSteps; ++step) {
      Words own = elements_of(draw, static_cast<int>(threads), 4096);
      for (auto& word : own)
        if (draw.below(2)) word = -1;
      words.insert(words.end(), own.begin(), own.end());
    }
    list.add("branch_" + name, branches<Op>, threads, std::move(words));
    Words rounds(threads);
    for (auto& word : rounds) word = draw.below(3) ? draw.below(6) : 0;
    list.add("loop_" + name, loops<Op>, threads, std::move(rounds));
  }
}

template <typename T, Formula kFormula>
void add_formula(List& list, const std::string& name) {
  Words words(32);
  for (int i = 0; i < 32; ++i) words[static_cast<std::size_t>(i)] = i;
  list.add((sizeof(T) == 4 ? "float_" : "double_") + name, arithmetic<T, kFormula>, 32, std::move(words));
}

void add_arithmetic(List& list) {
#define RUNG_FORMULA(name)                        \
  add_formula<float, Formula::name>(list, #name); \
  add_formula<double, Formula::name>(list, #name);
  RUNG_FORMULA(named_product)
  RUNG_FORMULA(product_twice)
  RUNG_FORMULA(product_stored)
  RUNG_FORMULA(times_two)
  RUNG_FORMULA(two_times)
  RUNG_FORMULA(times_two_plus)
  RUNG_FORMULA(times_two_minus)
  RUNG_FORMULA(times_two_times)
  RUNG_FORMULA(product_times_two)
  RUNG_FORMULA(update_by_two)
  RUNG_FORMULA(times_one)
  RUNG_FORMULA(times_one_plus)
  RUNG_FORMULA(times_minus_one)
  RUNG_FORMULA(times_four)
  RUNG_FORMULA(times_half)
  RUNG_FORMULA(times_three)
  RUNG_FORMULA(over_four)
  RUNG_FORMULA(over_two_plus)
  RUNG_FORMULA(over_minus_two)
  RUNG_FORMULA(over_one)
  RUNG_FORMULA(update_over_two)
#undef RUNG_FORMULA
}

}  // namespace

std::string Pattern::identity() const {
  std::uint64_t hash = threads;
  for (const std::int32_t word : words) hash = random_bits(hash, static_cast<std::uint32_t>(word));
  char text[9] = {};
  for (int i = 0; i < 8; ++i) text[i] = "0123456789abcdef"[hash >> 4 * i & 15];
  return name + " " + text;
}

std::vector<Pattern> all_patterns() {
  List list;
  add_width<unsigned char>(list, 8);
  add_width<unsigned short>(list, 8);
  add_width<int>(list, 16);
  add_width<float2>(list, 56);
  add_width<float4>(list, 72);
  add_copies<int>(list, 16);
  add_copies<float2>(list, 24);
  add_copies<float4>(list, 32);
  add_atomics<AddInt>(list, "add_int", 8);
  add_atomics<AddOne>(list, "add_one", 6);
  add_atomics<AddIntReturned>(list, "add_int_returned", 6);
  add_atomics<AddOneReturned>(list, "add_one_returned", 6);
  add_atomics<SubInt>(list, "sub_int", 2);
  add_atomics<MaxInt>(list, "max_int", 6);
  add_atomics<MaxIntReturned>(list, "max_int_returned", 4);
  add_atomics<OrInt>(list, "or_int", 2);
  add_atomics<Exchange>(list, "exchange", 4);
  add_atomics<ExchangeReturned>(list, "exchange_returned", 4);
  add_atomics<CompareReturned>(list, "compare_returned", 6);
  add_atomics<Increment>(list, "increment", 3);
  add_atomics<AddLong>(list, "add_long", 6);
  add_atomics<MaxLong>(list, "max_long", 4);
  add_atomics<CompareLongReturned>(list, "compare_long_returned", 4);
  add_atomics<AddFloat>(list, "add_float", 8);
  add_atomics<AddFloatReturned>(list, "add_float_returned", 4);
  add_atomics<AddDouble>(list, "add_double", 6);
  add_atomics<AddDoubleReturned>(list, "add_double_returned", 4);
  add_atomics<AddByAttempts>(list, "attempts", 12);
  add_atomics<AddUnderLock>(list, "lock", 6);
  add_branches<VolatileLoad>(list, "volatile", 6);
  add_branches<MaxIntReturned>(list, "max_int_returned", 6);
  add_branches<MaxInt>(list, "max_int", 3);
  add_branches<ExchangeReturned>(list, "exchange_returned", 4);
  add_branches<CompareReturned>(list, "compare_returned", 6);
  add_branches<AddInt>(list, "add_int", 3);
  add_arithmetic(list);
  add_atomics<ExchangeLong>(list, "exchange_long", 4);
  add_spread<AddInt>(list, "spread", 32);
  add_spread<AddIntReturned>(list, "spread_returned", 16);
  return std::move(list.all);
}

}  // namespace rung
