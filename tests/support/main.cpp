// The main function of every test program.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "halfstep/core/base/status.h"
#include "halfstep/core/machine/cpu.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;  // ctest counts the entry as skipped
  testing::InitGoogleTest(&argc, argv);
  ::setenv("HALFSTEP_VERIFY_PASSES", "1", 1);  // applies to programs that a test starts, too
  try {
    // Set for the entries of levels: the entry without a level has run at the highest one.
    if (halfstep::cpu_level() == halfstep::detected_cpu_level() &&
        std::getenv("HALFSTEP_TEST_LOWER_LEVELS") != nullptr) {
      std::puts("skipped: the entry without a level runs at this one, the highest of this machine");
      return kSkipped;
    }
  } catch (const halfstep::Error& error) {
    const bool skipped = error.kind() == halfstep::ErrorKind::unsupported;
    std::printf("%s: %s\n", skipped ? "skipped" : "failed", error.what());
    return skipped ? kSkipped : 1;
  }
  return RUN_ALL_TESTS();
}
