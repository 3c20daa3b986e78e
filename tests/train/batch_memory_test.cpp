#include "halfstep/train/batch_memory.h"

#include <gtest/gtest.h>

#include "halfstep/ir/parse.h"

namespace halfstep::train {
namespace {

/// For a network whose operations give 12 bytes for each element of its argument.
int64_t batch_at(int64_t elements, const std::string& batch = "?") {
  const Model model{parse(fmt::format("graph three(x: f32[{}, {}]) {{\n  a = relu(x)\n  b = neg(a)\n  c = relu(b)\n"
                                      "  return y = c\n}}\n",
                                      batch, elements)),
                    {},
                    {},
                    {}};
  io::Dataset data;
  data.name = "given";
  data.raw = false;
  data.x = Tensor(DType::f32, {3, elements});
  return fetching_batch(model, {.data = &data, .indices = {0, 1, 2}, .argument = "x", .preprocess = {}}, 64);
}

TEST(FetchingBatch, IsBoundedByWhatIsAskedForAndByMemory) {
  EXPECT_EQ(batch_at(1000), 64);
  EXPECT_EQ(batch_at(int64_t{1} << 20), 42) << "12 MiB each of 512";
  EXPECT_EQ(batch_at(int64_t{1} << 20, "3"), 3) << "fixed by the network";
}

}  // namespace
}  // namespace halfstep::train
