/// Accesses by plain types, which the emulator neither counts nor checks: each is found, with its array and its line,
/// in a checked run and in a counted one. And what the processor refuses fails the kernel, not the program.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu/simt/heap_and_stack.hpp"
#include "tests/emulator/emulator_support.hpp"

namespace rung {
namespace {

constexpr int kThreads = 64;
const Launch kTwoWarps{{1}, {kThreads}, kThreads * sizeof(float)};

std::string here(int line) { return "plain_access_test.cpp:" + std::to_string(line); }

/// All findings of a checked run, one a line.
template <typename... Arguments>
std::string checked(Arguments... arguments) {
  std::string text;
  for (const Finding& finding :
       counted(kTwoWarps, EmulatorOptions{.counting = false, .hazards = true}, arguments...).findings)
    text += finding.text() + "\n";
  return text;
}

/// Expects this finding alone of a checked run, and as the failure of a counted one.
template <typename... Arguments>
void expect_found(const std::string& message, Arguments... arguments) {
  EXPECT_EQ(checked(arguments...), message + "\n");
  EXPECT_EQ(failure(kTwoWarps, EmulatorOptions{}, arguments...), message);
}

constexpr int kSharedLine = __LINE__ + 4;
__global__ void plain_shared_array(const mem<float>* x, mem<float>* y) {
  __shared__ float tile[kThreads];
  const int t = threadIdx.x;
  tile[t] = x[t];
  __syncthreads();
  y[t] = tile[kThreads - 1 - t];
}

constexpr int kScalarLine = __LINE__ + 3;
__global__ void plain_shared_number(const mem<float>* x, mem<float>* y) {
  __shared__ float total;
  if (threadIdx.x == 3) total = x[0];
  __syncthreads();
  y[threadIdx.x] = total;
}

constexpr int kCopyLine = __LINE__ + 3;
__global__ void copy_to_shared_array(const mem<float>* x, mem<float>* y, int bytes) {
  __shared__ float tile[kThreads];
  memcpy(tile, &threadIdx, bytes);
  y[threadIdx.x] = x[threadIdx.x];
}

constexpr int kFillLine = __LINE__ + 1;
__global__ void fill_by_bytes(mem<float>* y, int bytes) { std::memset(static_cast<void*>(y), 0, bytes); }

constexpr int kReadLine = __LINE__ + 5;
__global__ void cast_of_shared_array(const mem<float>* x, mem<float>* y) {
  __shared__ mem<float> tile[kThreads];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = *(reinterpret_cast<const float*>(tile) + 2);
}

constexpr int kDynamicLine = __LINE__ + 3;
__global__ void plain_dynamic_array(const mem<float>* x, mem<float>* y) {
  float* tile = dynamic_shared<float>();
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
}

struct Arrays {
  const float* x;
  mem<float>* y;
};
constexpr int kPointerLine = __LINE__ + 1;
__global__ void plain_pointer_in_a_struct(Arrays it, mem<float>* y) { y[threadIdx.x] = it.x[threadIdx.x + 1]; }
constexpr int kFarLine = __LINE__ + 1;
__global__ void far_beyond(Arrays it, mem<float>* y) { y[threadIdx.x] = it.x[std::int64_t{1} << 44]; }
constexpr int kPastLine = __LINE__ + 1;
__global__ void just_past_the_end(Arrays it, mem<float>* y) { y[threadIdx.x] = it.x[kThreads]; }
constexpr int kNullLine = __LINE__ + 1;
__global__ void null_pointer(Arrays it, mem<float>* y) { y[threadIdx.x] = it.x[0]; }

constexpr int kVectorLine = __LINE__ + 2;
__global__ void vectors_by_cast(const mem<float>* x, mem<float>* y) {
  const float4 four = *(const float4*)(x + 4 * (threadIdx.x % 4));
  y[threadIdx.x] = four.x;
}

constexpr int kStoreLine = __LINE__ + 1;
__global__ void store_by_cast(mem<float>* y) { *(float*)&y[threadIdx.x] = 1; }

__constant__ float table[4];
constexpr int kConstantLine = __LINE__ + 1;
__global__ void plain_constant(mem<float>* y) { y[threadIdx.x] = table[threadIdx.x % 4 + 0]; }

__device__ float scratch[kThreads];
constexpr int kDeviceLine = __LINE__ + 2;
__global__ void device_variable(mem<float>* y) {
  scratch[threadIdx.x] = 1;
  y[threadIdx.x] = scratch[threadIdx.x];
}

__device__ mem<float> seen[kThreads];
constexpr int kSeenLine = __LINE__ + 1;
__global__ void device_variable_of_mem(mem<float>* y) { seen[threadIdx.x] = y[threadIdx.x]; }

constexpr int kHeapLine = __LINE__ + 3;
__global__ void plain_heap(mem<float>* y) {
  float* own = static_cast<float*>(malloc(8));
  own[1] = 2;
  y[threadIdx.x] = own[1];
  free(own);
}

std::string first_access(const std::string& what, int line) {
  return "block (0, 0, 0), thread (0, 0, 0), " + what + " at " + here(line) + ": ";
}

class PlainAccess : public testing::Test {
 protected:
  void SetUp() override {
#ifndef __SANITIZE_THREAD__
    GTEST_SKIP() << "the compiler does not report plain accesses together with another sanitizer";
#endif
  }
  Array<float> x{kThreads}, y{kThreads};
};

TEST_F(PlainAccess, ToSharedMemoryIsFound) {
  const std::string all = "access without mem<>: ";
  expect_found(
      all + "tile[0], " + first_access("write of 4 bytes", kSharedLine) + "declare it as __shared__ mem<T> tile",
      plain_shared_array, x.on_device(), y.on_device());
  expect_found(all + "total[0], block (0, 0, 0), thread (3, 0, 0), write of 4 bytes at " + here(kScalarLine) +
                   ": declare it as __shared__ mem<T> total",
               plain_shared_number, x.on_device(), y.on_device());
  expect_found(all + "tile[2], " + first_access("read of 4 bytes", kReadLine) + "declare it as __shared__ mem<T> tile",
               cast_of_shared_array, x.on_device(), y.on_device());
  expect_found(all + "dynamic shared memory[0], " + first_access("write of 4 bytes", kDynamicLine) +
                   "write dynamic_shared<mem<T>>()",
               plain_dynamic_array, x.on_device(), y.on_device());
}

TEST_F(PlainAccess, BySizesKnownAtRunTimeIsFound) {
#ifdef __clang__
  GTEST_SKIP() << "clang gives memcpy no other name";
#endif
  expect_found("access without mem<>: tile[0], " + first_access("write of 12 bytes", kCopyLine) +
                   "declare it as __shared__ mem<T> tile",
               copy_to_shared_array, x.on_device(), y.on_device(), 12);
  EXPECT_NE(checked(fill_by_bytes, y.on_device(), 64).find("[0], " + first_access("write of 64 bytes", kFillLine)),
            std::string::npos);
}

TEST_F(PlainAccess, ToGlobalMemoryIsFound) {
  const std::string all = "access without mem<>: ";
  const std::string array = "a buffer of 256 bytes", instead = "point to mem<T>, not to T";
  const std::string cast = instead + "; vector_cast<float4>() gives other types of elements";
  const Arrays it{&x[0], y.on_device()};
  expect_found(all + array + "[1], " + first_access("read of 4 bytes", kPointerLine) + cast, plain_pointer_in_a_struct,
               it, y.on_device());
  expect_found(all + array + "[0], " + first_access("read of 4 bytes", kVectorLine) + cast, vectors_by_cast,
               x.on_device(), y.on_device());
  expect_found(all + array + "[0], " + first_access("write of 4 bytes", kStoreLine) + cast, store_by_cast,
               y.on_device());
  expect_found(all + "the heap[0], " + first_access("write of 4 bytes", kHeapLine) + instead, plain_heap,
               y.on_device());
  expect_found(all + array + "[64], " + first_access("read of 4 bytes", kPastLine) + instead + ", and into an operand",
               just_past_the_end, it, y.on_device());
}

/// Where no array is near, the processor detects the access.
TEST_F(PlainAccess, ToNoMemoryIsACrash) {
  const std::string what = "crash: block (0, 0, 0), thread (0, 0, 0) uses an address that is no memory, at ";
  expect_found(what + here(kFarLine), far_beyond, Arrays{&x[0], y.on_device()}, y.on_device());
  expect_found(what + here(kNullLine), null_pointer, Arrays{nullptr, y.on_device()}, y.on_device());
}

__global__ void assert_in_many_words(const mem<int>* y) {
  const int the_first_element_of_the_array = y[0];
  if (the_first_element_of_the_array == 0) fail_thread(finding_kind::assertion, "a message that is longer than a word");
}

/// What the emulator's own headers put on the heap.
TEST_F(PlainAccess, OfAMessageIsNone) {
  Array<int> zeros(1);
  EXPECT_EQ(checked(assert_in_many_words, zeros.on_device()),
            "assertion: block (0, 0, 0), thread (0, 0, 0) a message that is longer than a word\n");
}

TEST_F(PlainAccess, ToVariablesIsFound) {
  const std::string all = "access without mem<>: ";
  expect_found(
      all + "table[0], " + first_access("read of 4 bytes", kConstantLine) + "declare it as __constant__ mem<T> table",
      plain_constant, y.on_device());
  expect_found(all + "scratch[0], " + first_access("write of 4 bytes", kDeviceLine) +
                   "the emulator has no __device__ variables: make it an operand, or scratch of the kernel's record",
               device_variable, y.on_device());
  EXPECT_EQ(checked(device_variable_of_mem, y.on_device()),
            "not emulated: seen[0], " + first_access("write of 4 bytes", kSeenLine) +
                "the emulator has no __device__ variables: make it an operand, or scratch of the kernel's record\n");
}

constexpr float kTable[] = {1, 2, 3, 4};

/// What is a thread's own may be plain, and so may constants of the program.
__global__ void own_variables(const mem<float>* x, mem<float>* y, Arrays it) {
  float own[8];
  for (int i = 0; i < 8; ++i) own[i] = x[i];
  float* const end = own + 8;
  float sum = 0;
  for (const float* at = own; at != end; ++at) sum += *at;
  y[threadIdx.x] = sum + own[threadIdx.x % 8] + kTable[threadIdx.x % 4] + (it.x ? 1.0f : 0.0f);
}

TEST_F(PlainAccess, OfAThreadsOwnIsNone) {
  EXPECT_EQ(checked(own_variables, x.on_device(), y.on_device(), Arrays{&x[0], y.on_device()}), "");
}

constexpr int kDivisionLine = __LINE__ + 1;
__global__ void divide(const mem<int>* x, mem<int>* y, int by) { y[threadIdx.x] = x[threadIdx.x] / by; }

TEST(Crashes, OfAKernelAreFaultsOfIt) {
  Array<int> x(kThreads), y(kThreads);
  const std::string message =
      "crash: block (0, 0, 0), thread (0, 0, 0) divides a whole number by 0, or the least one by -1, at ";
  EXPECT_EQ(checked(divide, x.on_device(), y.on_device(), 0), message + here(kDivisionLine) + "\n");
  EXPECT_EQ(failure(kTwoWarps, EmulatorOptions{}, divide, x.on_device(), y.on_device(), 0),
            message + here(kDivisionLine));
  // Afterwards the emulator is as good as new.
  EXPECT_EQ(checked(divide, x.on_device(), y.on_device(), 3), "");
}

/// By mem<>, an address is looked up before it is used; where nothing is checked, the processor does.
__global__ void store_anywhere(mem<int>* y) { asm volatile("movl $1, (%0)" : : "r"(y) : "memory"); }

TEST(Crashes, AnAddressThatIsNoMemoryIsNamed) {
#ifdef __x86_64__
  const std::string text = checked(store_anywhere, reinterpret_cast<mem<int>*>(8));
  EXPECT_TRUE(contains(text, "crash: block (0, 0, 0), thread (0, 0, 0) uses an address that is no memory, at "))
      << text;
#endif
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

constexpr int kSumLine = __LINE__ + 5;
template <bool kZero>
__global__ void sum_of_two(const mem<float>* x, mem<float>* y) {
  reg<float> sum;
  if constexpr (kZero) sum = 0;
  sum += x[threadIdx.x];
  y[threadIdx.x] = sum;
}

constexpr int kSumsLine = __LINE__ + 5;
template <bool kZero>
__global__ void sums_of_rows(const mem<double>* x, mem<double>* y) {
  reg<double> sum[2][3];
  for (int i = kZero ? 0 : 1; i < 6; ++i) sum[i / 3][i % 3] = 0;
  for (int i = 0; i < 6; ++i) sum[i / 3][i % 3] += x[threadIdx.x];
  y[threadIdx.x] = sum[0][0] + sum[1][2];
}

constexpr int kVectorMemberLine = __LINE__ + 6;
template <bool kAll>
__global__ void vector_by_members(const mem<float>* x, mem<float>* y) {
  float2 pair;
  pair.x = x[threadIdx.x];
  if constexpr (kAll) pair.y = 0;
  y[threadIdx.x] = pair.x + pair.y;
}

constexpr int kCopiedLine = __LINE__ + 7;
/// Only what is computed from a copy, or stored of it, reads the variable.
template <bool kStore>
__global__ void copies(const mem<float>* x, mem<float>* y) {
  float2 pair;
  pair.x = x[threadIdx.x];
  const float2 other = pair;
  y[threadIdx.x] = kStore ? other.y : other.x;
}

#pragma GCC diagnostic pop

TEST(Variables, WithoutAValueAreFound) {
#ifdef __x86_64__
  Array<float> x(kThreads), y(kThreads);
  Array<double> wide(kThreads), wide_y(kThreads);
  const std::string message =
      "uninitialised register variable: block (0, 0, 0), thread (0, 0, 0) reads a variable (reg<T>) that has no value "
      "yet, at ";
  expect_found(message + here(kSumLine), sum_of_two<false>, x.on_device(), y.on_device());
  expect_found(message + here(kSumsLine), sums_of_rows<false>, wide.on_device(), wide_y.on_device());
  expect_found(message + here(kVectorMemberLine), vector_by_members<false>, x.on_device(), y.on_device());
  expect_found(message + here(kCopiedLine), copies<true>, x.on_device(), y.on_device());
  EXPECT_EQ(checked(sum_of_two<true>, x.on_device(), y.on_device()), "");
  EXPECT_EQ(checked(sums_of_rows<true>, wide.on_device(), wide_y.on_device()), "");
  EXPECT_EQ(checked(vector_by_members<true>, x.on_device(), y.on_device()), "");
  EXPECT_EQ(checked(copies<false>, x.on_device(), y.on_device()), "");
#endif
}

constexpr int kBeyondLine = __LINE__ + 2;
__global__ void read_at(const mem<float>* x, mem<float>* y, std::int64_t shift) {
  y[threadIdx.x] = x[threadIdx.x + shift];
}

constexpr int kOwnLine = __LINE__ + 3;
__global__ void own_array_of_mem(mem<float>* y) {
  mem<float> own[4];
  own[threadIdx.x % 4] = 1;
  y[threadIdx.x] = own[0];
}

/// A variable is named where its overrun may have led there, and no other that lies anywhere.
TEST(OutOfBounds, NamesTheVariableThatIsNear) {
  Array<float> x(kThreads), y(kThreads);
  const auto read = [&](std::int64_t shift) { return checked(read_at, x.on_device(), y.on_device(), shift); };
  const std::string thread = "block (0, 0, 0), thread (0, 0, 0), ", at = " at " + here(kBeyondLine) + "\n";
  EXPECT_EQ(read(-1), "out of bounds: a buffer of 256 bytes[-1], " + thread + "read of 4 bytes" + at);
  EXPECT_EQ(read(kThreads),
            "out of bounds: a buffer of 256 bytes[64], " + thread + "read of 4 bytes, 0 bytes past its end" + at);
  EXPECT_EQ(read(std::int64_t{1} << 40),
            "out of bounds: " + thread + "read of 4 bytes, an address far from every variable," + at);
  EXPECT_EQ(checked(own_array_of_mem, y.on_device()),
            "out of bounds: " + thread + "write of 4 bytes, in the thread's own memory: declare its variables as " +
                "reg<T>, not mem<T>, at " + here(kOwnLine) + "\n");
}

}  // namespace
}  // namespace rung
