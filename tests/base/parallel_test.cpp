#include "halfstep/core/machine/parallel.h"

#include <gtest/gtest.h>

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "halfstep/core/machine/float_environment.h"

namespace halfstep {
namespace {

TEST(ThreadPool, EveryIndexOnceForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      pool.parallel_for(count, [&](int64_t i) { ++calls[static_cast<size_t>(i)]; });
      for (const auto& c : calls) EXPECT_EQ(c, 1);
    }
  }
}

TEST(ThreadPool, RunsOnEveryMemberAndWaits) {
  ThreadPool pool(4);
  for (int round = 0; round < 200; ++round) {
    std::array<int, 4> runs{};  // not atomic: the return of run_on_all orders the writes before the reads
    pool.run_on_all([&](int worker) { ++runs.at(static_cast<size_t>(worker)); });
    EXPECT_EQ(runs, (std::array<int, 4>{1, 1, 1, 1}));
  }
}

TEST(ThreadPool, ZeroMeansOnePerProcessor) { EXPECT_GE(ThreadPool(0).threads(), 1); }

TEST(ThreadPool, ManyPoolsComeAndGo) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(3);
}

TEST(ThreadPool, MembersRoundToNearestWhateverTheCallerDoes) {
  ThreadPool pool(3);
  std::fesetround(FE_UPWARD);
  std::array<int, 3> modes{};
  pool.run_on_all([&](int worker) { modes.at(static_cast<size_t>(worker)) = std::fegetround(); });
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(modes, (std::array<int, 3>{FE_TONEAREST, FE_TONEAREST, FE_TONEAREST}));
}

TEST(FloatEnvironment, SetsAndRestoresRounding) {
  std::fesetround(FE_DOWNWARD);
  {
    const FloatEnvironment environment;
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  }
  EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
  std::fesetround(FE_TONEAREST);
}

#if defined(__x86_64__)
TEST(FloatEnvironment, KeepsSubnormals) {
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | kFlushToZero | kDenormalsAreZero);
  volatile float tiny = 1e-40F;
  EXPECT_EQ(tiny * 1.0F, 0.0F);
  {
    const FloatEnvironment environment;
    EXPECT_GT(tiny * 1.0F, 0.0F);
  }
  EXPECT_EQ(_mm_getcsr() & (kFlushToZero | kDenormalsAreZero), kFlushToZero | kDenormalsAreZero);
  _mm_setcsr(before);
}
#endif

}  // namespace
}  // namespace halfstep
