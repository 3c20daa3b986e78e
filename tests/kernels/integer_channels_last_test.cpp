// Pools of codes on channels-last images: the reference against the one for [n, c, h, w], and every fast kernel against
// it, at every CPU level of this machine.
#include "tests/kernels/elementwise_cases.h"
#include "tests/kernels/integer_candidates.h"

namespace halfstep::kernels {
namespace {

// A0.1, A5.1
TEST(integer_pools, averages_agree_with_the_reference) {
  const CodesTarget rounded{.scale = 0.05F, .zero_point = 9, .activation = "relu"};
  const CodesTarget in_float{.scale = 0.05F, .zero_point = 9, .activation = "relu", .requantize = "float32"};
  const std::vector<std::pair<AverageCase, CodesTarget>> cases = {
      {{{3, 2}, {2, 1}, {1, 0, 1, 1}, true}, rounded},
      {{{3, 2}, {2, 1}, {1, 0, 1, 1}, false}, rounded},
      {{{9, 7}}, in_float}};  // float32 averages only codes of whole images
  for (const int64_t channels : {1, 3, 16, 37, 1280}) {
    const CodesValue x(DType::u8, {2, channels, 9, 7}, 255, 1);
    for (const auto& [window, y] : cases) {
      const KernelCase use = window.integer(x, y);
      const Tensor want = channels_last_of(run_kernel(reference_integer_avg_pool2d, use, CpuLevel::scalar)[0]);
      const KernelCase last = channels_last_of(use);
      EXPECT_TRUE(same_bits(want, run_kernel(reference_integer_avg_pool2d, last, CpuLevel::scalar)[0]));
      expect_all_agree(last, want, {&cpu_integer_avg_pool2d_sums});
    }
  }
}

}  // namespace
}  // namespace halfstep::kernels
