// A dim3 of one, two or three integers: the others are 1.
constexpr bool is(dim3 d, unsigned x, unsigned y, unsigned z) { return d.x == x && d.y == y && d.z == z; }

static_assert(is(dim3(256), 256, 1, 1) && is(dim3(32, 16), 32, 16, 1) && is(dim3(32, 16, 2), 32, 16, 2) &&
              sizeof(dim3) == 3 * sizeof(int));

__global__ void add() {}

void start() {
  add<<<256, 1024>>>();
  add<<<dim3(256, 1, 1), dim3(1024, 1, 1)>>>();
  add<<<dim3(256), dim3(1024)>>>();
}
