#include "halfstep/fuzz/memory_meter.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "halfstep/core/base/system_memory.h"

namespace halfstep::fuzz {
namespace {

TEST(MemoryMeter, SeesAPeakThatIsOver) {
  constexpr int64_t kBytes = int64_t{96} << 20;
  const MemoryMeter meter;
  std::byte* memory = system_memory(static_cast<size_t>(kBytes));
  for (int64_t i = 0; i < kBytes; i += 4096) *const_cast<volatile std::byte*>(memory + i) = std::byte{1};
  std::free(memory);
  EXPECT_GE(meter.peak(), kBytes * 15 / 16);
  EXPECT_LT(MemoryMeter().peak(), kBytes / 4) << "the peak of an earlier network counts";
}

}  // namespace
}  // namespace halfstep::fuzz
