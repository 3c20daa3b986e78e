// Round to nearest, subnormals kept: set at every entry of the library and on every pool thread, restored on leaving.
#pragma once

#include <cfenv>

namespace halfstep {

class FloatEnvironment {
 public:
  FloatEnvironment();
  ~FloatEnvironment();
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace halfstep
