/// The actual clock of the multiprocessors, from their own cycle counters.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <vector>

namespace rung {

/// Measures the mean clock over an interval on a stream: a tiny kernel before it and one after it read each
/// multiprocessor's cycle counter and the time in ns. The clock that the driver reports holds for one moment only, and
/// a GPU at its power limit changes it within milliseconds.
class ClockGauge {
 public:
  explicit ClockGauge(int multiprocessors);
  ~ClockGauge();
  ClockGauge(const ClockGauge&) = delete;
  ClockGauge& operator=(const ClockGauge&) = delete;

  /// Forgets the intervals so far.
  void reset() { cycles_ = ns_ = 0; }
  /// Begin and end of an interval; neither waits.
  void start(cudaStream_t stream) { stamp(stream, 0); }
  void stop(cudaStream_t stream) { stamp(stream, 1); }
  /// Waits for the end of the interval and adds it to the previous ones.
  void add(cudaStream_t stream);
  /// MHz, the mean over all intervals since reset(); nothing if they are too short for the GPU's timer, which may
  /// advance by 1 us at a time.
  std::optional<double> mhz() const;

 private:
  void stamp(cudaStream_t stream, int which);

  unsigned count_;                // of multiprocessors
  ulonglong2* stamps_ = nullptr;  // on the device: ns and cycles per multiprocessor, at the begin, then at the end
  std::vector<ulonglong2> read_;
  double cycles_ = 0, ns_ = 0;
};

}  // namespace rung
