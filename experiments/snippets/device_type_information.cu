// Device code that queries an object's type at run time.
#include <typeinfo>

struct Shape {
  __device__ virtual int corners() const { return 0; }
};

__global__ void ask(const Shape* shape, int* result) { *result = typeid(*shape) == typeid(Shape) ? 1 : 0; }
