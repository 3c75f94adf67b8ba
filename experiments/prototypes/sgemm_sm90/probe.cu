#include "variants.cuh"
template __global__ void sgemm::sgemm_kernel<sgemm::V>(const __grid_constant__ CUtensorMap, const __grid_constant__ CUtensorMap, const sgemm::Problem);
