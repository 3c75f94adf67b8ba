// The example of the lecture: cudaMalloc returns the memory.
void* image(size_t bytes) {
#ifdef MENDED
  void* array;
  cudaMalloc(&array, bytes);
#else
  void* array = cudaMalloc(bytes);
#endif
  return array;
}
