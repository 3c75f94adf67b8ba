/// The peak rates of the tensor cores, by data type, with sums in float32 (INT8: in int32): warpgroups iterate products
/// of 64 x 256, 64 bytes deep, from shared memory, four instructions in flight, and access memory only at both ends. A
/// product is 64 of the problem's chains, side by side: A repeats their tile `a` four times down, B their tile `b`
/// sixteen times across. In FP8 there are fewer iterations: its sums keep 14 bits, so larger sums would not be exact.
/// Source: NVIDIA PTX ISA, wgmma; Yang and others 2020 (in-core ceilings).
#include "gpu/ceilings/fma_tensor.hpp"

namespace rung {
namespace {

const bool added = fma_tensor::add<Type::bf16>("gpu/fma/bf16", "BF16 tensor cores", 8192) &&
                   fma_tensor::add<Type::fp16>("gpu/fma/fp16", "FP16 tensor cores", 8192) &&
                   fma_tensor::add<Type::tf32>("gpu/fma/tf32", "TF32 tensor cores", 8192) &&
                   fma_tensor::add<Type::fp8>("gpu/fma/fp8", "FP8 tensor cores", 4096) &&
                   fma_tensor::add<Type::int8>("gpu/fma/int8", "INT8 tensor cores", 8192);

}  // namespace
}  // namespace rung
