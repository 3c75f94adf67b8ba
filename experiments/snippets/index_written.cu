// A kernel writes a member of threadIdx.
__global__ void move() { threadIdx.x = 0; }
