// The example of the lecture: cudaMalloc returns the memory.
void* image(size_t bytes) {
  void* array = cudaMalloc(bytes);
  return array;
}
