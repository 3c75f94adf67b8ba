/// oneDNN's matrix product, for float32 and bfloat16 inputs. The code for a shape and number of threads is generated
/// once, at the first call, and kept.
#include "cpu/onednn.hpp"

#include <omp.h>

#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>
#include <type_traits>

namespace rung {
namespace {

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::memory::desc row_major(int rows, int cols, std::int64_t ld, dnnl::memory::data_type type) {
  return {{rows, cols}, type, {ld, 1}};
}

/// The factors: first the product is scaled, then C added.
dnnl::primitive_attr factors(float alpha, float beta) {
  dnnl::post_ops after;
#if DNNL_VERSION_MAJOR >= 3
  if (alpha != 1) after.append_eltwise(dnnl::algorithm::eltwise_linear, alpha, 0);
#else
  if (alpha != 1) after.append_eltwise(1, dnnl::algorithm::eltwise_linear, alpha, 0);
#endif
  if (beta != 0) after.append_sum(beta);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(after);
  return attributes;
}

/// The product of one shape, for OpenMP's number of threads when it is created.
template <typename Input>
class OnednnProduct {
 public:
  explicit OnednnProduct(const Matmul<Input>& it) {
    constexpr auto type = std::is_same_v<Input, float> ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
    const auto a = row_major(it.m, it.k, it.lda, type);
    const auto b = row_major(it.k, it.n, it.ldb, type);
    const auto c = row_major(it.m, it.n, it.ldc, dnnl::memory::data_type::f32);
#if DNNL_VERSION_MAJOR >= 3
    product_ = dnnl::matmul({cpu_engine(), a, b, c, factors(it.alpha, it.beta)});
#else
    product_ = dnnl::matmul({{a, b, c}, factors(it.alpha, it.beta), cpu_engine()});
#endif
    a_ = dnnl::memory(a, cpu_engine(), nullptr);
    b_ = dnnl::memory(b, cpu_engine(), nullptr);
    c_ = dnnl::memory(c, cpu_engine(), nullptr);
  }

  void run(const Matmul<Input>& it) {
    static dnnl::stream stream(cpu_engine());
    a_.set_data_handle(const_cast<Input*>(it.a));
    b_.set_data_handle(const_cast<Input*>(it.b));
    c_.set_data_handle(it.c);
    product_.execute(stream, {{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}});
    stream.wait();
  }

 private:
  dnnl::matmul product_;
  dnnl::memory a_, b_, c_;
};

template <typename Input>
std::string find_refusal() {
  if (dnnl_version()->cpu_runtime != DNNL_RUNTIME_OMP)
    return "this oneDNN is not built on OpenMP, so it does not use the requested threads";
  try {
    OnednnProduct<Input>({.m = 64, .n = 64, .k = 64, .lda = 64, .ldb = 64, .ldc = 64});
    return "";
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) return std::string("oneDNN: ") + error.what();
    return std::string("oneDNN has no product of ") + (std::is_same_v<Input, float> ? "float32" : "bfloat16") +
           " for this CPU";
  }
}

}  // namespace

std::string onednn_name() {
  return "oneDNN " + std::to_string(DNNL_VERSION_MAJOR) + "." + std::to_string(DNNL_VERSION_MINOR) + "." +
         std::to_string(DNNL_VERSION_PATCH);
}

template <typename Input>
std::string refuse_onednn(const Params& sizes) {
  static const std::string reason = find_refusal<Input>();
  if (reason.empty() && sizes.get("n", 0) == 1 && (sizes.get("ldb", 1) > 1 || sizes.get("ldc", 1) > 1))
    return "oneDNN takes strided columns for dense ones (3.6 where n is 1)";
  return reason;
}

template <typename Input>
void matmul_onednn(const Matmul<Input>& it) try {
  if (it.alpha == 0) return scale_output(it);
  using Key = std::tuple<int, int, int, std::int64_t, std::int64_t, std::int64_t, float, float, int>;
  static std::map<Key, OnednnProduct<Input>> made;
  const Key key{it.m, it.n, it.k, it.lda, it.ldb, it.ldc, it.alpha, it.beta, omp_get_max_threads()};
  auto found = made.find(key);
  if (found == made.end()) found = made.try_emplace(key, it).first;
  found->second.run(it);
} catch (const dnnl::error& error) {
  throw Error(std::string("oneDNN: ") + error.what());
}

template std::string refuse_onednn<float>(const Params&);
template std::string refuse_onednn<Bf16>(const Params&);
template void matmul_onednn(const Matmul<float>&);
template void matmul_onednn(const Matmul<Bf16>&);

}  // namespace rung
