// A function of the device with a variable number of arguments.
#include <cstdarg>

__device__ int sum(int count, ...) {
  va_list arguments;
  va_start(arguments, count);
  int total = 0;
  for (int i = 0; i < count; ++i) total += va_arg(arguments, int);
  va_end(arguments);
  return total;
}

__global__ void ask(int* result) { *result = sum(2, 3, 4); }
