/// The fibers of a build without Boost.Context, in a program of their own: one program can have one kind only.
#include <cstdio>

#include "tests/emulator/fiber_scenario.hpp"

#ifdef RUNG_BOOST_CONTEXT
#error this program is about the other fibers
#endif

int main() {
  const std::string wrong = rung::fiber_scenario();
  std::puts(wrong.empty() ? "right" : wrong.c_str());
  return wrong.empty() ? 0 : 1;
}
