/// The data types of operands as NVIDIA's libraries name them.
#pragma once

#include <cublas_api.h>

#include "common/problem/matmul.hpp"

namespace rung {

/// Throws Error for a type for which we call no library.
cudaDataType cuda_type(Type type);

/// How the product of such inputs is computed: in float32, in int32, or in float32 from inputs rounded to TF32.
cublasComputeType_t compute_type(Type type);

/// alpha and beta of a product as the libraries read them: float32, or int32 where the sums are int32.
class Factors {
 public:
  Factors(const Matmul<void, void>& it, Type type)
      : is_whole_(type == Type::int8),
        floats_{it.alpha, it.beta},
        whole_{static_cast<std::int32_t>(it.alpha), static_cast<std::int32_t>(it.beta)} {}
  const void* alpha() const { return is_whole_ ? static_cast<const void*>(&whole_[0]) : &floats_[0]; }
  const void* beta() const { return is_whole_ ? static_cast<const void*>(&whole_[1]) : &floats_[1]; }

 private:
  bool is_whole_;
  float floats_[2];
  std::int32_t whole_[2];
};

}  // namespace rung
