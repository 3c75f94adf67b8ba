/// The tests of CUDA's vocabulary once more, for the build of a kernel that only computes its answer.
#define RUNG_PLAIN_EMULATION
#include "tests/emulator/vocabulary_test.cpp"
