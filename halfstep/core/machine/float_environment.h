// Floating-point environment: round to nearest, keep subnormals. Set at every entry of the library and on every pool
// thread, and restored on exit.
#pragma once

#if defined(__x86_64__)
#include <cstdint>
#else
#include <cfenv>
#endif

namespace halfstep {

class FloatEnvironment {
 public:
  FloatEnvironment();
  ~FloatEnvironment();
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
#if defined(__x86_64__)
  uint32_t sse_;
  uint16_t x87_;
#else
  std::fenv_t saved_;
#endif
};

}  // namespace halfstep
