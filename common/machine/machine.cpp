#include "common/machine/machine.hpp"

namespace rung {

Target& Machine::host() {
  if (!host_) host_ = open_host();
  return *host_;
}

Target* Machine::gpu() {
  if (!gpu_opened_) gpu_ = open_gpu(device_);
  gpu_opened_ = true;
  return gpu_.target.get();
}

Json Machine::context() {
  Json all = Json::object();
  all.update(Json(host().context()));
  if (gpu()) {
    all.update(Json(gpu()->context()));
  } else {
    all["gpu_unavailable"] = gpu_unavailable();
  }
  return all;
}

}  // namespace rung
