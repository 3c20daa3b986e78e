#include "halfstep/base/float_environment.h"

namespace halfstep {

// FE_DFL_ENV holds the default control words: nearest rounding, all exceptions masked, no flushing of subnormals (MXCSR
// FTZ and DAZ clear).
FloatEnvironment::FloatEnvironment() {
  std::fegetenv(&saved_);
  std::fesetenv(FE_DFL_ENV);
}

FloatEnvironment::~FloatEnvironment() { std::fesetenv(&saved_); }

}  // namespace halfstep
