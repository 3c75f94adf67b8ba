// Device code that throws an exception.
__global__ void check(const int* number) {
  if (*number < 0) throw 1;
}
