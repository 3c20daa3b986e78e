// Memory that this process uses while it checks one network.
#pragma once

#include <cstdint>

namespace halfstep::fuzz {

class MemoryMeter {
 public:
  /// Starts measuring. Present memory does not count.
  MemoryMeter();
  /// Maximum of additional bytes so far, 0 if the system does not report it.
  int64_t peak() const;

 private:
  int64_t before_;
};

}  // namespace halfstep::fuzz
