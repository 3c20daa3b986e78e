#include <gtest/gtest.h>

#include "halfstep/halfstep.h"

namespace halfstep {
namespace {

#ifdef HALFSTEP_SANITIZED
constexpr uint64_t kSeeds = 100;
#else
constexpr uint64_t kSeeds = 1500;
#endif

void expect_no_finding(const api::FuzzReport& report) {
  for (const api::FuzzFinding& finding : report.findings)
    ADD_FAILURE() << "seed " << finding.seed << ", " << finding.check << ": " << finding.what << "; target "
                  << finding.target;
}

/// Fixed seeds without findings. Most networks become integer programs on codes alone.
TEST(Fuzz, FindsNothing) {
  api::FuzzRequest request;
  request.seeds.last = kSeeds;
  const api::FuzzReport report = api::run_fuzz(request, {});
  EXPECT_EQ(report.graphs, static_cast<int64_t>(kSeeds));
  EXPECT_GE(report.closed_without_fallbacks * 10, report.closed * 7);  // resizing to dynamic sizes is float
  expect_no_finding(report);
}

/// Seeds that had findings: an imported quantizer that is arithmetic, a scale that a scan computes, a result of a scan
/// that nothing reads, and a minimum of single numbers.
TEST(Fuzz, FormerFindingsAreGone) {
  for (const uint64_t seed : {7234U, 9359U, 11294U, 12069U}) {
    api::FuzzRequest request;
    request.seeds.first = seed, request.seeds.last = seed + 1;
    expect_no_finding(api::run_fuzz(request, {}));
  }
}

TEST(Fuzz, SeedsMustBeInOrder) {
  api::FuzzRequest request;
  request.seeds.first = 5, request.seeds.last = 4;
  EXPECT_THROW(api::run_fuzz(request, {}), Error);
}

}  // namespace
}  // namespace halfstep
