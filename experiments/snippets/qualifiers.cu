// The lecture's declarations of functions and variables.
__device__ float filter[10];
__global__ void my_kernel() {}
__device__ float my_device_func() { return filter[0]; }
__constant__ float my_constant_array[32];
__global__ void with_shared() {
  __shared__ float my_shared_array[32];
  my_shared_array[threadIdx.x] = my_device_func() + my_constant_array[threadIdx.x];
}
