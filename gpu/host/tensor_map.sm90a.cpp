#include "gpu/host/tensor_map.hpp"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "common/registry.hpp"
#include "gpu/host/cuda_error.hpp"

namespace rung::hopper {
namespace {

/// The driver's function, looked up through the runtime, so that the program does not link with the driver.
PFN_cuTensorMapEncodeTiled_v12000 encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
             "looking up cuTensorMapEncodeTiled");
  if (found != cudaDriverEntryPointSuccess)
    throw Error("the driver has no cuTensorMapEncodeTiled: version 12.0 or later is required");
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

CUtensorMap encoded(const BoxedMatrix& of) {
  static const auto encode = encoder();
  CUtensorMap map{};
  const cuuint64_t size[2] = {static_cast<cuuint64_t>(of.cols), static_cast<cuuint64_t>(of.rows)};
  const cuuint64_t stride[1] = {static_cast<cuuint64_t>(of.pitch) * type_bytes(of.type)};
  const cuuint32_t box[2] = {static_cast<cuuint32_t>(of.box_cols), static_cast<cuuint32_t>(of.box_rows)};
  const cuuint32_t step[2] = {1, 1};
  const CUtensorMapDataType type = of.type == Type::bf16      ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                   : of.type == Type::fp16    ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                   : type_bytes(of.type) == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                   : of.type == Type::int32   ? CU_TENSOR_MAP_DATA_TYPE_INT32
                                                              : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  constexpr CUtensorMapSwizzle kSwizzles[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                                              CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B};
  const CUtensorMapSwizzle swizzle = kSwizzles[static_cast<int>(of.swizzle)];
  // L2 fetches 128 bytes at a time. With 256, BF16 products whose rows begin at any multiple of 16 bytes were slower,
  // and none was faster.
  const CUresult result =
      encode(&map, type, 2, const_cast<void*>(of.at), size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw Error(fmt::format("cuTensorMapEncodeTiled rejects a matrix of {} x {} elements with row pitch {}: error {}",
                            of.rows, of.cols, of.pitch, static_cast<int>(result)));
  return map;
}

}  // namespace

CUtensorMap tensor_map(const BoxedMatrix& of) {
  struct Known {
    BoxedMatrix of;
    CUtensorMap map;
  };
  static std::array<Known, 32> known{};  // a timed loop uses the same maps: up to 8 per kernel
  static std::size_t oldest = 0;
  for (const Known& one : known)
    if (one.of == of) return one.map;
  known[oldest] = {of, encoded(of)};
  return known[std::exchange(oldest, (oldest + 1) % known.size())].map;
}

}  // namespace rung::hopper
