// Device code with a container of the standard library.
#include <vector>

__global__ void count(int* result) {
  std::vector<int> numbers(3);
  *result = static_cast<int>(numbers.size());
}
