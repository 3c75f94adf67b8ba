// How the host reads a constant of the device.
__constant__ int solver;

int solver_of_device() {
  int solver_CPU = 0;
#ifdef MENDED
  cudaMemcpyFromSymbol(&solver_CPU, solver, sizeof(int), 0, cudaMemcpyDeviceToHost);
#else
  cudaMemcpyToSymbol(&solver_CPU, solver, sizeof(int), 0, cudaMemcpyDeviceToHost);
#endif
  return solver_CPU;
}
