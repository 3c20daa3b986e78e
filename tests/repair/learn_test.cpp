// Learning of blocks: they approach their float form, the integers are verified, and every way to the end has the same
// result.
#include <gtest/gtest.h>

#include <filesystem>

#include "halfstep/tune/repair/errors.h"
#include "halfstep/tune/repair/part.h"
#include "halfstep/tune/repair/store.h"
#include "tests/repair/digits.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::repair {
namespace {

api::QuantizeResult learned(const char* method, int threads = 0, const std::filesystem::path& folder = {},
                            bool resume = false, ProgressCallback progress = {}, size_t memory = size_t{1} << 30) {
  api::QuantizeOptions all = options(3, 4, {method});
  all.repair.folder = folder;
  all.repair.resume = resume;
  all.repair.memory = memory;
  api::Settings settings;
  settings.threads = threads;
  settings.progress = std::move(progress);
  return api::quantize(network(), quant::load_platform("generic_int8"), digits(), all, settings);
}

class EachMethod : public testing::TestWithParam<const char*> {};

TEST_P(EachMethod, ComesNearerAndItsIntegersAreProven) {
  const api::QuantizeResult result = learned(GetParam());
  const Step& step = result.repair->steps[0];
  EXPECT_TRUE(step.kept) << step.what;
  EXPECT_LT(step.after.loss, step.before.loss);
  const auto program = api::convert(result.model);
  EXPECT_TRUE(api::verify(result.model, program.model, digits(), {}, {}).equal());
}

TEST_P(EachMethod, SameBitsForAnyNumberOfThreadsAndAnyMemory) {
  const std::string digest = digest_hex(learned(GetParam(), 1).model);
  EXPECT_EQ(digest_hex(learned(GetParam(), 2).model), digest);
  EXPECT_EQ(digest_hex(learned(GetParam(), 2, {}, false, {}, 1 << 16).model), digest);
}

TEST_P(EachMethod, GoesOnWhereItWasStopped) {
  const test::TemporaryFolder folder;
  const auto blocks = folder / "blocks";
  const auto stop = [](const Progress& progress) {
    if (progress.stage == GetParam() && progress.done > 0.5 * progress.total) fail(errors::interrupted("the test"));
  };
  EXPECT_EQ(test::kind_of([&] { learned(GetParam(), 0, blocks, false, stop); }), ErrorKind::interrupted);
  EXPECT_FALSE(std::filesystem::is_empty(blocks));
  EXPECT_EQ(test::diagnostic_of([&] { learned(GetParam(), 0, blocks); }), errors::repair_folder_taken(blocks.string()));
  int64_t steps = 0;
  const auto count = [&](const Progress& progress) { steps += progress.stage == GetParam() ? 1 : 0; };
  const api::QuantizeResult resumed = learned(GetParam(), 0, blocks, true, count), straight = learned(GetParam());
  EXPECT_EQ(digest_hex(resumed.model), digest_hex(straight.model));
  EXPECT_LT(steps, 60 * 4);
  EXPECT_EQ(test::name_of([&] {
              api::QuantizeOptions other = options(3, 4, {GetParam()});
              other.repair.folder = blocks;
              other.repair.resume = true;
              other.repair.steps = 61;
              quantized(network(), other);
            }),
            "repair_block_of_another_run");
  Options done;
  done.folder = blocks;
  remove_checkpoints(done);
  EXPECT_FALSE(std::filesystem::exists(blocks));
}

INSTANTIATE_TEST_SUITE_P(Learn, EachMethod, testing::Values("blocks", "adaround", "brecq", "qdrop"),
                         [](const auto& method) { return std::string(method.param); });

TEST(Learn, BlocksAreWhatASingleValueEntersAndLeaves) {
  const Model model = quantized(network(), options(8, 8, {})).model;
  std::vector<std::string> names;
  for (const Block& block : blocks_of(model, Grain::blocks)) names.push_back(block.name);
  EXPECT_EQ(names, (std::vector<std::string>{"conv1", "conv2", "conv3", "conv4 to conv5", "head"}));
  names.clear();
  for (const Block& block : blocks_of(model, Grain::layers)) names.push_back(block.name);
  EXPECT_EQ(names, (std::vector<std::string>{"conv1", "conv2", "conv3", "conv4", "conv5", "head"}));
}

TEST(Learn, ABlockOfAnotherNetworkIsRefused) {
  const test::TemporaryFolder folder;
  const auto blocks = folder / "blocks";
  const auto stop = [](const Progress& progress) {
    if (progress.stage == "adaround" && progress.done > 0.5 * progress.total) fail(errors::interrupted("the test"));
  };
  EXPECT_THROW(learned("adaround", 0, blocks, false, stop), Error);
  const auto path = std::filesystem::directory_iterator(blocks)->path();
  Model block = load_model(path);
  block.graph.add_tensor("further", {DType::f32, {1}}, Role::state);
  block.tensors.emplace("further", Tensor::scalar(1.0F));
  save_model(block, path);
  EXPECT_EQ(test::diagnostic_of([&] { learned("adaround", 0, blocks, true); }),
            errors::repair_block_does_not_fit(path.string(), "further"));
}

TEST(Learn, StoresRefuseWhatTheyCannotKeep) {
  StoreRoom room(100);
  Store rows(4, room), huge(int64_t{1} << 35, room);
  EXPECT_EQ(test::diagnostic_of([&] { rows.put(0, 4, Tensor(DType::f32, {3})); }),
            errors::values_without_sample_axis("f32[3]", 4));
  EXPECT_EQ(test::name_of([&] { huge.put(0, 1, Tensor(DType::f32, {1, 1024})); }), "no_room_for_values");
}

/// A store without room in memory returns the rows that were stored.
TEST(Learn, StoresKeepRowsInFiles) {
  StoreRoom room(100);
  Store small(4, room), large(4, room);
  Tensor values(DType::f32, {4, 6});
  for (int i = 0; i < 24; ++i) values.data<float>()[static_cast<size_t>(i)] = static_cast<float>(i);
  for (Store* store : {&small, &large}) {
    store->put(0, 3, values.rows(0, 3));
    store->put(3, 1, values.rows(3, 4));
    EXPECT_TRUE(store->rows(0, 4).same_bits(values));
    const std::vector<int64_t> chosen = {3, 1};
    EXPECT_EQ(store->rows(chosen).data<float>()[0], 18);
    EXPECT_EQ(store->rows(chosen).data<float>()[11], 11);
  }
}

}  // namespace
}  // namespace halfstep::repair
