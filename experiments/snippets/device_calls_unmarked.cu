// A kernel calls a function that is marked for neither side.
int answer() { return 42; }

__global__ void ask(int* result) { *result = answer(); }
