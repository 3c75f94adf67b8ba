// options: -Wno-deprecated-declarations
// More doubles than two.
__global__ void sizes(unsigned long* bytes) { *bytes = sizeof(double3) + sizeof(double4); }
