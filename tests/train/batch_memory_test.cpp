#include "halfstep/train/evaluate/batch_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "halfstep/core/ir/text/parse.h"

namespace halfstep::train {
namespace {

/// For a network whose operations write 12 bytes for each element of its argument.
template <class Count>
int64_t counted(Count&& count, int64_t elements, const std::string& batch) {
  const Model model{parse(fmt::format("graph three(x: f32[{}, {}]) {{\n  a = relu(x)\n  b = neg(a)\n  c = relu(b)\n"
                                      "  return y = c\n}}\n",
                                      batch, elements)),
                    {},
                    {},
                    {}};
  data::Dataset data;
  data.name = "given";
  data.raw = false;
  data.x = Tensor(DType::f32, {3, elements});
  return count(model, data::Samples{.data = &data, .indices = {0, 1, 2}, .argument = "x", .preprocess = {}}, 64);
}
int64_t batch_at(int64_t elements, const std::string& batch = "?") { return counted(fetching_batch, elements, batch); }

TEST(FetchingBatch, IsBoundedByWhatIsAskedForAndByMemory) {
  EXPECT_EQ(batch_at(1000), 64);
  EXPECT_EQ(batch_at(int64_t{1} << 20), 42) << "12 MiB each of 512";
  EXPECT_EQ(batch_at(int64_t{1} << 20, "3"), 3) << "fixed by the network";
}

TEST(SamplesInMemory, AreThoseOfAnyBatch) {
  for (const char* batch : {"?", "1", "3"}) {
    EXPECT_EQ(counted(samples_in_memory, 1000, batch), 64) << batch;
    EXPECT_EQ(counted(samples_in_memory, int64_t{1} << 20, batch), 42) << batch;
  }
}

}  // namespace
}  // namespace halfstep::train
