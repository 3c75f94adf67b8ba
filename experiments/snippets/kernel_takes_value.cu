// A kernel with a structure as a parameter.
struct Size {
  int rows, columns;
};

__global__ void area(Size size, int* result) { *result = size.rows * size.columns; }
