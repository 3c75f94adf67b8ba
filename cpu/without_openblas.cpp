/// The peer in a program that was built without OpenBLAS: it reports that, and everything else works.
#include "cpu/openblas.hpp"

namespace rung {

std::string openblas_name() { return "OpenBLAS (not in this build)"; }

std::string refuse_openblas() { return "built without OpenBLAS: install libopenblas-openmp-dev and build again"; }

void matmul_openblas(const Matmul<>&) { throw Error(refuse_openblas()); }

}  // namespace rung
