// A field that the course's scheme changes, so that its equation depends on time: cos(pi x / 2) halves in a step.
constexpr double differences(double u, double left, double right, double below, double above) {
  return left + right + below + above - 4 * u;
}

static_assert(1 + 0.25 * differences(1, 0, 0, 1, 1) == 0.5);
#ifndef MENDED
static_assert(differences(1, 0, 0, 1, 1) == 0);  // as Laplace's equation asks
#endif
