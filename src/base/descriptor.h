// What the system hands out by number, and how it says no.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

#include "base/error.h"

namespace lightline {

// Closes a file, pipe or socket at its end; -1 is none.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  bool close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0;
  }

 private:
  int fd_;
};

// `what` went wrong, for the reason that errno had as a number.
Error system_error(const std::string& what, int number, std::string hint = "", Where where = {});

}  // namespace lightline
