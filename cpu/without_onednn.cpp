/// The peer in a program that was built without oneDNN: it reports that, and everything else works.
#include "cpu/onednn.hpp"

namespace rung {

std::string onednn_name() { return "oneDNN (not in this build)"; }

template <typename Input>
std::string refuse_onednn(const Params&) {
  return "built without oneDNN: install libdnnl-dev and build again";
}

template <typename Input>
void matmul_onednn(const Matmul<Input>&) {
  throw Error(refuse_onednn<Input>({}));
}

template std::string refuse_onednn<float>(const Params&);
template std::string refuse_onednn<Bf16>(const Params&);
template void matmul_onednn(const Matmul<float>&);
template void matmul_onednn(const Matmul<Bf16>&);

}  // namespace rung
