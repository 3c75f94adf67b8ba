// Device code with overloads, a default parameter, a namespace, a function template and a class, itself a template.
namespace shapes {

template <typename Number>
class Square {
 public:
  __device__ explicit Square(Number side = 1) : side_(side) {}
  __device__ Number area() const { return side_ * side_; }

 private:
  Number side_;
};

__device__ int scaled(int area, int factor = 2) { return factor * area; }
__device__ float scaled(float area) { return 0.5f * area; }

template <typename Number>
__device__ Number larger(Number one, Number other) {
  return one < other ? other : one;
}

}  // namespace shapes

__global__ void areas(int* whole, float* real) {
  *whole = shapes::scaled(shapes::Square<int>(3).area());
  *real = shapes::larger(shapes::scaled(shapes::Square<float>().area()), 1.0f);
}
