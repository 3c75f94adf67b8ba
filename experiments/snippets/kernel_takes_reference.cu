// A kernel with a reference as a parameter.
struct Size {
  int rows, columns;
};

__global__ void area(const Size& size, int* result) { *result = size.rows * size.columns; }
