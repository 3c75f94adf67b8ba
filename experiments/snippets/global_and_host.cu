// The question of the lecture: a kernel that is a function of the host as well.
__global__ __host__ void func() {}
