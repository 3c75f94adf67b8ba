/// An open file, closed with its owner.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace rung {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  operator int() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  /// Keeps errno, so that an earlier failure can still be reported.
  void close() {
    const int before = errno;
    if (is_open()) ::close(std::exchange(number_, -1));
    errno = before;
  }

 private:
  int number_;
};

}  // namespace rung
