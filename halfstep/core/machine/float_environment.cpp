#include "halfstep/core/machine/float_environment.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace halfstep {

#if defined(__x86_64__)

// Sets only the two control words. A direct call of a small operator takes less time than one fegetenv and two
// fesetenv, which store and load the whole x87 unit.
namespace {

constexpr uint32_t kSseDefault = 0x1F80;  // nearest, every exception masked, FTZ and DAZ clear
constexpr uint16_t kX87Default = 0x037F;  // nearest, every exception masked, 64 bits of precision

uint16_t x87_control() {
  uint16_t word = 0;
  asm volatile("fnstcw %0" : "=m"(word));
  return word;
}
void set_x87_control(uint16_t word) { asm volatile("fldcw %0" : : "m"(word)); }

}  // namespace

FloatEnvironment::FloatEnvironment() : sse_(_mm_getcsr()), x87_(x87_control()) {
  _mm_setcsr(kSseDefault);
  if (x87_ != kX87Default) set_x87_control(kX87Default);
}

FloatEnvironment::~FloatEnvironment() {
  _mm_setcsr(sse_);
  if (x87_ != kX87Default) set_x87_control(x87_);
}

#else

// FE_DFL_ENV holds the default control words.
FloatEnvironment::FloatEnvironment() {
  std::fegetenv(&saved_);
  std::fesetenv(FE_DFL_ENV);
}

FloatEnvironment::~FloatEnvironment() { std::fesetenv(&saved_); }

#endif

}  // namespace halfstep
