// Memory of this process while one network is looked at.
#pragma once

#include <cstdint>

namespace halfstep::fuzz {

class MemoryMeter {
 public:
  /// Begins: what the process has in memory now does not count.
  MemoryMeter();
  /// Bytes that came on top at most so far; 0 where the system does not tell.
  int64_t peak() const;

 private:
  int64_t before_;
};

}  // namespace halfstep::fuzz
