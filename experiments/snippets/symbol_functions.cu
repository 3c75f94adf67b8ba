// The host reads and writes variables of the device by their names.
__device__ int global_variable;
__constant__ int constant_variable;

template <typename Symbol>
void ask(const Symbol& symbol) {
  void* address;
  size_t bytes;
  int value = 0;
  cudaGetSymbolAddress(&address, symbol);
  cudaGetSymbolSize(&bytes, symbol);
  cudaMemcpyToSymbol(symbol, &value, sizeof value);
  cudaMemcpyFromSymbol(&value, symbol, sizeof value);
}

void ask_both() {
  ask(global_variable);
  ask(constant_variable);
}
