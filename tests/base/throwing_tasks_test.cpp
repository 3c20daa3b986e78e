#include "halfstep/core/machine/throwing_tasks.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace halfstep {
namespace {

TEST(ThrowingTasks, AllRunAndTheFirstFailureIsThrown) {
  ThreadPool pool(3);
  std::vector<int> done(100);
  const auto run = [&] {
    parallel_for_throwing(pool, 100, [&](int64_t i) {
      done[static_cast<size_t>(i)] = 1;
      if (i % 10 == 7) throw std::runtime_error(std::to_string(i));
    });
  };
  try {
    run();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "7");
  }
  EXPECT_EQ(done, std::vector<int>(100, 1));
}

}  // namespace
}  // namespace halfstep
