// options: -deviceemu
// Any kernel, for the emulation of a device on the host.
__global__ void answer(int* result) { *result = 42; }
