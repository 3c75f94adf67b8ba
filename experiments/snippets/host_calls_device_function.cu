// The host calls a function of the device.
__device__ int answer() { return 42; }

int ask() { return answer(); }
