// Networks with a scalar input per sample, such as the iteration count of a loop.
#include <gtest/gtest.h>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/files/child_process.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/halfstep.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::api {
namespace {

constexpr int64_t kSamples = 40, kColumns = 8;

/// Rows called `name`, and the number of `steps` per sample, 0 to 5.
Tensors samples(const std::string& name) {
  Tensor x(DType::f32, {kSamples, kColumns}), steps(DType::i64, {kSamples}), labels(DType::i64, {kSamples});
  Random random(5, 1);
  for (float& value : x.data<float>()) value = 2 * random.uniform() - 1;
  for (size_t i = 0; i < static_cast<size_t>(kSamples); ++i) {
    steps.data<int64_t>()[i] = static_cast<int64_t>(i) % 6;
    labels.data<int64_t>()[i] = static_cast<int64_t>(i * 7) % 4;
  }
  return {{name, x}, {"steps", steps}, {"labels", labels}};
}

Model network(const std::string& rows = "?") {
  Model model = train::initialize(parse("graph steps(x: f32[" + rows + ", 8], steps: i64[]) {" + R"(
  param @w: f32[8, 8]
  param @v: f32[4, 8]
  const @zero: i64[]
  const @one: i64[]
  go = less(a=@zero, b=steps)
  l = while(cond=go, values=[@zero, x, steps]) {states: 2} region body(i: i64[], h: f32[?, 8], last: i64[]) {
    a = linear(x=h, w=@w)
    b = relu(x=a)
    j = add(a=i, b=@one)
    more = less(a=j, b=last)
    return more, j, b
  }
  y = linear(x=l.out1, w=@v)
  return y
})",
                                        "steps.ir"),
                                  1);
  const std::array<int64_t, 2> numbers = {0, 1};
  model.tensors["zero"] = Tensor::of<int64_t>(DType::i64, {}, {numbers.data(), 1});
  model.tensors["one"] = Tensor::of<int64_t>(DType::i64, {}, {&numbers[1], 1});
  return model;
}

int64_t iterations(const Tensors& all, const Dataset& data) {
  int64_t sum = 0;
  const auto parts = parts_for(network(), data);
  for (const int64_t index : parts.test.indices) sum += all.at("steps").data<int64_t>()[static_cast<size_t>(index)];
  return sum;
}

TEST(ScalarInputs, GoAllTheWayToIntegers) {
  const Tensors all = samples("x");
  const Dataset data = make_data(all, "steps");
  const Model prepared = quantize(network(), quant::load_platform("generic_int8"), data, {}, {}).model;
  ASSERT_NE(prepared.source, nullptr);
  EXPECT_EQ(prepared.source->samples.at("steps").dims(), Dims({8}));
  const TrainResult tuned = train(prepared, data, {.epochs = 2, .learning_rate = 0.05, .keep_best = false}, {});
  EXPECT_NE(digest(tuned.model), digest(prepared));
  const Model integer = convert(tuned.model).model;
  EXPECT_EQ(evaluate(integer, data, {}, {}).loss, evaluate(tuned.model, data, {}, {}).loss);

  VerifyOptions options{.semantics = SemanticCheck::all};
  if (io::run_program({"cc", "--version"}, "", 200).code == 0) options.backend = VerifyBackend::c;
  const verify::VerifyReport report = verify(tuned.model, integer, data, options, {});
  EXPECT_TRUE(report.equal());
  EXPECT_EQ(report.semantic_samples, report.samples + 8);
  const auto inside = std::ranges::find(report.layers, "a", [](const auto& layer) { return layer.layer.name; });
  ASSERT_NE(inside, report.layers.end());
  EXPECT_EQ(inside->compared, iterations(all, data) * kColumns);
}

TEST(ScalarInputs, AreReadFromFilesAndKeptWithTheModel) {
  const Model in_float = network();
  const Dataset data = make_data(samples("x"), "steps");
  const quant::Platform platform = quant::load_platform("generic_int8");
  const uint64_t expected = digest(quantize(in_float, platform, data, {}, {}).model);
  const test::TemporaryFolder folder;
  for (const char* ending : {".npz", ".safetensors"}) {
    const std::filesystem::path path = folder / (std::string("steps") + ending);
    write_tensors(path, samples("x"));
    const Model prepared = quantize(in_float, platform, load_data(path.string()), {}, {}).model;
    EXPECT_EQ(digest(prepared), expected) << ending;
    save(prepared, folder / "prepared.safetensors");
    const Model again = load(folder / "prepared.safetensors");
    EXPECT_TRUE(again.source->samples.at("steps").same_bits(prepared.source->samples.at("steps")));
  }
}

TEST(ScalarInputs, AreDumpedAsOneNumberOfEachSample) {
  DumpOptions options;
  options.format = board::Format::npy;
  const Tensors all = samples("x");
  DataOptions every;
  every.all = true;
  const auto dumped = values_of(network(), make_data(all, "steps", every), options, {});
  EXPECT_EQ(dumped.manifest.samples, kSamples);
}

TEST(ScalarInputs, OtherSamplesAreRefusedByName) {
  Tensors columns = samples("x");
  columns.at("steps") = columns.at("steps").reshaped({kSamples, 1});
  EXPECT_EQ(test::diagnostic_of([&] { parts_for(network(), make_data(columns, "columns")); }),
            errors::samples_of_other_shape("columns", "steps", "[1] for each sample", "one value for each sample",
                                           "steps", "pass a tensor [n]"));
  EXPECT_EQ(test::diagnostic_of([&] { parts_for(network("4"), make_data(samples("x"), "fours")); }),
            errors::one_value_for_several_samples("fours", "steps", "steps", 4, "x"));
}

TEST(ScalarInputs, AScriptedLoopOfPyTorchBecomesIntegers) {
  HS_NEEDS_TEST_DATA("models/loop_if_ts17");
  Tensors all = samples("input");
  all.erase("labels");
  const Dataset data = make_data(all, "steps");
  const Model in_float = load(test::test_data("models/loop_if_ts17/model.onnx"), data, {});
  const Model prepared = quantize(in_float, quant::load_platform("generic_int8"), data, {}, {}).model;
  const TrainResult tuned = train(prepared, data, {.epochs = 1, .learning_rate = 0.01, .keep_best = false}, {});
  EXPECT_NE(digest(tuned.model), digest(prepared));
  const Model integer = convert(tuned.model, {.float_fallback = true}).model;
  for (const std::optional<VerifyBackend> backend : {std::optional<VerifyBackend>(), {VerifyBackend::c}}) {
    VerifyOptions options;
    options.backend = backend;
    const verify::VerifyReport report = verify(tuned.model, integer, data, options, {});
    EXPECT_TRUE(report.equal()) << backend.has_value();
    EXPECT_EQ(report.samples, kSamples) << backend.has_value();
  }
}

}  // namespace
}  // namespace halfstep::api
