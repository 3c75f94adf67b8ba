// Device code that calls a virtual function.
struct Shape {
  __device__ virtual int corners() const { return 0; }
};

struct Square : Shape {
  __device__ int corners() const override { return 4; }
};

__global__ void ask(int* result) {
  const Square square;
  const Shape* shape = &square;
  *result = shape->corners();
}
