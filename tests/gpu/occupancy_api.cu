/// The occupancy model against the CUDA API on the GPU at hand: seeded random blocks of kernels with many different
/// register counts and some static shared memory. `cmake --build build --target occupancy_api` builds it.
///
///   occupancy_api [FILE.csv]     exit 0 if all agree, 1 if any differs, 2 if the comparison could not be made
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/model/occupancy.hpp"

namespace {

constexpr unsigned kSeed = 20240229;
constexpr int kPerKernel = 500;
constexpr int kDifferencesShown = 10;
constexpr int kMinConfigurations = 10000, kMinRegisterCounts = 12;

void check(cudaError_t status, const std::string& what) {
  if (status != cudaSuccess) throw std::runtime_error(what + ": " + cudaGetErrorString(status));
}

/// Keeps about `Live` values alive from the loads to the stores, so that the compiler needs that many registers. The
/// rotation ties every value to every other: none can be finished early.
template <int Live, int StaticBytes>
__device__ void keep_alive(float* data, int rounds) {
  float value[Live];
#pragma unroll
  for (int i = 0; i < Live; ++i) value[i] = data[threadIdx.x + i * 1024];
  for (int r = 0; r < rounds; ++r) {
    const float first = value[0];
#pragma unroll
    for (int i = 0; i + 1 < Live; ++i) value[i] = value[i] * value[i + 1] + 1.0f;
    value[Live - 1] = value[Live - 1] * first + 1.0f;
  }
  if constexpr (StaticBytes > 0) {
    __shared__ char bytes[StaticBytes];
    bytes[(threadIdx.x * 7) % StaticBytes] = static_cast<char>(value[0]);
    __syncthreads();
    value[0] += bytes[(threadIdx.x * 5 + static_cast<unsigned>(rounds)) % StaticBytes];
  }
#pragma unroll
  for (int i = 0; i < Live; ++i) data[threadIdx.x + i * 1024] = value[i];
}

template <int Live, int StaticBytes>
__global__ void kernel(float* data, int rounds) {
  keep_alive<Live, StaticBytes>(data, rounds);
}

/// The same values in fewer registers than they would like.
template <int Cap>
__global__ void __maxnreg__(Cap) capped(float* data, int rounds) {
  keep_alive<64, 0>(data, rounds);
}

using Kernel = void (*)(float*, int);

// Sizes that spread the register counts over 16..255 and across the multiples of 8 at which allocation steps.
template <int... Live>
void add_plain(std::vector<Kernel>& list, std::integer_sequence<int, Live...>) {
  (list.push_back(kernel<Live, 0>), ...);
}

std::vector<Kernel> kernels() {
  std::vector<Kernel> list;
  add_plain(list, std::integer_sequence<int, 1, 2, 4, 6, 8, 11, 14, 18, 22, 27, 32, 38, 44, 51, 58, 66, 75, 84, 96, 110,
                                        125, 140, 160, 180, 200, 215, 230, 250>{});
  list.insert(list.end(), {kernel<2, 1>, kernel<4, 1000>, kernel<8, 4096>, kernel<24, 12345>, kernel<48, 30000>,
                           kernel<100, 49152>});
  list.insert(list.end(), {capped<24>, capped<28>, capped<31>, capped<32>, capped<40>, capped<48>, capped<56>});
  return list;
}

struct Row {
  rung::BlockNeeds block;
  std::size_t static_bytes = 0, dynamic_bytes = 0;
  int by_api = 0, by_model = 0;
};

/// A number from 0 to `most`; half of them small, because nearly all large amounts give one block or none.
std::size_t random_bytes(std::mt19937& random, std::size_t most) {
  const std::size_t limit = random() % 2 == 0 ? most : std::min<std::size_t>(most, 20000);
  return std::uniform_int_distribution<std::size_t>(0, limit)(random);
}

std::vector<Row> compare(Kernel entry, const rung::SmLimits& sm, std::size_t most_shared, std::mt19937& random) {
  const void* const function = reinterpret_cast<const void*>(entry);
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, function), "cudaFuncGetAttributes");
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(most_shared - attributes.sharedSizeBytes)),
        "cudaFuncSetAttribute");
  std::vector<Row> rows;
  for (int i = 0; i < kPerKernel; ++i) {
    Row row;
    // Every other block is a whole number of warps, as real ones are.
    const int threads = 1 + static_cast<int>(random() % 1024);
    row.block.threads = i % 2 == 0 ? threads : (threads + 31) / 32 * 32;
    row.static_bytes = attributes.sharedSizeBytes;
    row.dynamic_bytes = i % 4 == 0 ? 0 : random_bytes(random, most_shared);
    row.block.registers_per_thread = attributes.numRegs;
    row.block.shared_bytes = static_cast<std::int64_t>(row.static_bytes + row.dynamic_bytes);
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&row.by_api, function, static_cast<int>(row.block.threads),
                                                        row.dynamic_bytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    row.by_model = rung::occupancy(sm, row.block).blocks_per_sm;
    rows.push_back(row);
  }
  return rows;
}

/// The limits that the driver reports must equal the model's table.
int compare_limits(const cudaDeviceProp& device, const rung::SmLimits& sm) {
  const std::vector<std::pair<const char*, std::pair<long long, long long>>> pairs = {
      {"threads per block", {device.maxThreadsPerBlock, sm.threads_per_block}},
      {"threads per SM", {device.maxThreadsPerMultiProcessor, sm.threads_per_sm}},
      {"blocks per SM", {device.maxBlocksPerMultiProcessor, sm.blocks_per_sm}},
      {"registers per SM", {device.regsPerMultiprocessor, sm.registers_per_sm}},
      {"registers per block", {device.regsPerBlock, sm.registers_per_block}},
      {"shared memory per SM", {device.sharedMemPerMultiprocessor, sm.shared_per_sm}},
      {"shared memory per block", {device.sharedMemPerBlock, sm.shared_per_block}},
      {"shared memory per block, opt-in", {device.sharedMemPerBlockOptin, sm.shared_per_block_optin}},
      {"shared memory reserved", {device.reservedSharedMemPerBlock, sm.shared_reserved}}};
  int differences = 0;
  for (const auto& [what, values] : pairs) {
    if (values.first == values.second) continue;
    ++differences;
    std::cout << "limit differs: " << what << ": device " << values.first << ", model " << values.second << '\n';
  }
  return differences;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
  return text.data();
}

void write_csv(const char* path, const cudaDeviceProp& device, const std::vector<Row>& rows) {
  std::ofstream file(path);
  file << "# " << device.name << ", cc " << device.major << '.' << device.minor << ", CUDA " << CUDART_VERSION / 1000
       << '.' << CUDART_VERSION % 1000 / 10 << ", " << today() << ", seed " << kSeed << '\n';
  file << "registers_per_thread,static_shared_bytes,dynamic_shared_bytes,threads,blocks_per_sm\n";
  for (const Row& row : rows)
    file << row.block.registers_per_thread << ',' << row.static_bytes << ',' << row.dynamic_bytes << ','
         << row.block.threads << ',' << row.by_api << '\n';
  file.close();
  if (!file) throw std::runtime_error(std::string("cannot write ") + path);
}

int run(const char* csv) {
  int number = 0;
  check(cudaGetDevice(&number), "cudaGetDevice");
  cudaDeviceProp device;
  check(cudaGetDeviceProperties(&device, number), "cudaGetDeviceProperties");
  const rung::SmLimits sm = rung::sm_limits(device.major, device.minor);

  std::mt19937 random(kSeed);
  std::vector<Row> rows;
  std::set<std::int64_t> registers;
  for (const Kernel entry : kernels())
    for (const Row& row : compare(entry, sm, device.sharedMemPerBlockOptin, random)) {
      rows.push_back(row);
      registers.insert(row.block.registers_per_thread);
    }

  int differences = compare_limits(device, sm);
  for (const Row& row : rows) {
    if (row.by_api == row.by_model) continue;
    if (++differences > kDifferencesShown) continue;
    std::cout << row.block.registers_per_thread << " registers, " << row.static_bytes << " + " << row.dynamic_bytes
              << " B shared, " << row.block.threads << " threads: API " << row.by_api << ", model " << row.by_model
              << '\n';
  }
  std::cout << device.name << " (cc " << device.major << '.' << device.minor << "), " << registers.size()
            << " register counts from " << *registers.begin() << " to " << *registers.rbegin() << ", seed " << kSeed
            << '\n'
            << rows.size() << " configurations, " << differences << " differences\n";
  if (csv) write_csv(csv, device, rows);
  if (rows.size() < kMinConfigurations || registers.size() < kMinRegisterCounts)
    throw std::runtime_error("too few configurations or register counts for the comparison to mean anything");
  return differences == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : nullptr);
  } catch (const std::exception& error) {
    std::cerr << "occupancy_api: " << error.what() << '\n';
    return 2;
  }
}
