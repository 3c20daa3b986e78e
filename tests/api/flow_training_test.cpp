// Networks with branches and loops can be trained.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/halfstep.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "halfstep/train/loop/training_graph.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::api {
namespace {

constexpr int64_t kSamples = 120;

/// Rows of `dims`. The label of each sample is the index of its largest number, counted from `begin`, among `classes`.
Tensors rows_with_labels(const std::string& name, Dims dims, size_t begin, int64_t classes) {
  const auto row = static_cast<size_t>(count_elements(dims));
  dims.insert(dims.begin(), kSamples);
  Tensor x(DType::f32, dims), labels(DType::i32, {kSamples});
  Random random(3, 11);
  for (float& value : x.data<float>()) value = 2 * random.uniform() - 1;
  for (size_t i = 0; i < static_cast<size_t>(kSamples); ++i) {
    const auto part = x.data<float>().subspan(i * row + begin, static_cast<size_t>(classes));
    labels.data<int32_t>()[i] = static_cast<int32_t>(std::max_element(part.begin(), part.end()) - part.begin());
  }
  return {{name, x}, {"labels", labels}};
}

/// `cell` computes the next states `nh` and `nc` from h, c and a row.
Model recurrent(const std::string& declared, const std::string& cell) {
  return train::initialize(parse("graph recurrent(x: f32[?, 5, 4]) {\n" + declared + R"(
  param @start: f32[8, 4]
  param @head: f32[4, 8]
  t = transpose(x) {perm: [1, 0, 2]}
  z = reduce_mean(x=x) {axes: [1], keep_dims: false}
  h0 = linear(x=z, w=@start)
  s = scan(values=[h0, h0, t]) {states: 2, scanned: 1}
    region body(h: f32[?, 8], c: f32[?, 8], row: f32[?, 4]) {
)" + cell + R"(
      return nh, nc
  }
  y = linear(x=s, w=@head)
  return y
})",
                                 "recurrent.ir"),
                           1);
}

constexpr const char* kLstm = R"(
  xh = concat(x=[row, h]) {axis: 1}
  g = linear(x=xh, w=@w, b=@b)
  i = slice(g) {starts: [0], ends: [8], axes: [1]}
  f = slice(g) {starts: [8], ends: [16], axes: [1]}
  o = slice(g) {starts: [16], ends: [24], axes: [1]}
  k = slice(g) {starts: [24], ends: [32], axes: [1]}
  si = sigmoid(x=i)
  sf = sigmoid(x=f)
  so = sigmoid(x=o)
  tk = tanh(x=k)
  kept = mul(a=sf, b=c)
  new = mul(a=si, b=tk)
  nc = add(a=kept, b=new)
  tc = tanh(x=nc)
  nh = mul(a=so, b=tc)
)";

struct Learned {
  EvaluateResult before, after;
  Model model;
};

Learned learn(const Model& network, const Tensors& samples, int64_t epochs, double rate) {
  DataOptions all;
  all.all = true;
  const Dataset data = make_data(samples, "rows", all);
  TrainOptions options{.epochs = epochs, .batch = 20, .learning_rate = rate, .keep_best = false};
  Settings settings;
  settings.threads = 1;
  const TrainResult trained = train(network, data, options, settings);
  options.epochs = 1;
  const std::string digest = train(network, data, options, settings).digest;
  settings.threads = 4;
  EXPECT_EQ(train(network, data, options, settings).digest, digest);
  return {evaluate(network, data, {}, {}), evaluate(trained.model, data, {}, {}), trained.model};
}

TEST(FlowTraining, AnLstmAsAScanLearns) {
  const Model lstm = recurrent("param @w: f32[32, 12] param @b: f32[32]", kLstm);
  const Learned learned = learn(lstm, rows_with_labels("x", {5, 4}, 8, 4), 30, 0.4);
  EXPECT_LT(learned.after.loss, 0.5 * learned.before.loss);
  EXPECT_GT(learned.after.accuracy, 0.9);
}

/// The layers of ONNX, as files have them: samples first, then steps.
TEST(FlowTraining, RecurrentLayersLearn) {
  for (const auto& [layer, gates] : std::map<std::string, int>{{"lstm", 4}, {"gru", 3}, {"rnn", 1}}) {
    const std::string rows = std::to_string(8 * gates);
    const Model network = train::initialize(
        parse("graph g(x: f32[?, 5, 4]) {\n  param @w: f32[1, " + rows + ", 4]\n  param @r: f32[1, " + rows +
                  ", 8]\n  param @head: f32[4, 8]\n"
                  "  h = " +
                  layer +
                  "(x, w=@w, r=@r) {layout: 1}\n"
                  "  last = flatten(h.y_h)\n  y = linear(x=last, w=@head)\n"
                  "  return y\n}\n",
              "layer.ir"),
        1);
    const Learned learned = learn(network, rows_with_labels("x", {5, 4}, 16, 4), 30, 0.4);
    EXPECT_LT(learned.after.loss, 0.5 * learned.before.loss) << layer;
    EXPECT_GT(learned.after.accuracy, 0.9) << layer;
  }
}

/// 4-bit weights with learned scales and 8-bit activations inside the scan. The integer program has the same codes.
TEST(FlowTraining, AQuantizedLstmIsFineTunedAndBecomesIntegers) {
  DataOptions all;
  all.all = true;
  const Dataset data = make_data(rows_with_labels("x", {5, 4}, 8, 4), "rows", all);
  Settings settings;
  settings.threads = 1;
  const Model lstm = recurrent("param @w: f32[32, 12] param @b: f32[32]", kLstm);
  const Model learned =
      train(lstm, data, {.epochs = 30, .batch = 20, .learning_rate = 0.4, .keep_best = false}, settings).model;
  QuantizeOptions options;
  options.prepare.weight_bits = 4;
  const Model prepared = quantize(learned, quant::load_platform("generic_int8"), data, options, settings).model;
  const TrainOptions tuning{.epochs = 4, .batch = 20, .learning_rate = 0.02, .keep_best = false};
  const TrainResult tuned = train(prepared, data, tuning, settings);
  const EvaluateResult before = evaluate(prepared, data, {}, settings),
                       after = evaluate(tuned.model, data, {}, settings);
  EXPECT_LT(after.loss, before.loss);
  EXPECT_NE(digest(prepared), digest(tuned.model));
  const Model integer = convert(tuned.model, {.float_fallback = true}).model;
  const verify::VerifyReport report = verify(tuned.model, integer, data, {.semantics = SemanticCheck::all}, settings);
  EXPECT_TRUE(report.equal());
  const auto gates = std::ranges::find(report.layers, "g", [](const auto& layer) { return layer.layer.name; });
  ASSERT_NE(gates, report.layers.end());
  EXPECT_EQ(gates->layer.path, "scan 's'");
  EXPECT_EQ(gates->compared, report.samples * 5 * 32);
  settings.threads = 4;
  EXPECT_EQ(train(prepared, data, tuning, settings).digest, tuned.digest);
}

/// Observed scales, learned scales, a batch norm and a rounded weight, all inside regions.
TEST(FlowTraining, QuantizersAndNormsInsideRegionsLearn) {
  Model network = recurrent(
      "param @w: f32[8, 12] param @step: f32[1] param @g.scale: f32[8] param @g.bias: f32[8] state @mean: f32[8]\n"
      "state @variance: f32[8] state @in_scale: f32[1] state @accum: f32[1] state @count: f32[1] const @zero: i32[1]",
      R"(
  q = fake_quantize_dequantize_moving_average_abs_max(x=row, in_scale=@in_scale, in_accum=@accum, in_state=@count)
  xh = concat(x=[q, h]) {axis: 1}
  wq = fake_quantize(x=@w, scale=@step, zero_point=@zero) {code_min: -7, code_max: 7, code_type: "i8"}
  g = linear(x=xh, w=wq)
  n = batch_norm(g, scale=@g.scale, bias=@g.bias, mean=@mean, variance=@variance) {is_test: false}
  nh = tanh(x=n)
  nc = add(a=nh, b=c)
)");
  network.tensors["zero"] = Tensor::scalar(int32_t{0});
  network.tensors["step"] = Tensor::scalar(0.2F);
  for (const char* name : {"g.scale", "variance", "in_scale", "accum", "count"})
    std::ranges::fill(network.tensors.at(name).data<float>(), 1.0F);
  const Learned learned = learn(network, rows_with_labels("x", {5, 4}, 16, 4), 30, 0.1);
  EXPECT_LT(learned.after.loss, 0.7 * learned.before.loss);
  EXPECT_NE(learned.model.tensors.at("step").data<float>()[0], 0.2F);
  // The 5 rows of each of 6 batches count once: n = 0.9 n + 1.
  const Model once = learn(network, rows_with_labels("x", {5, 4}, 16, 4), 1, 0.1).model;
  EXPECT_NEAR(once.tensors.at("count").data<float>()[0], 10 - 9 * std::pow(0.9, 30), 1e-4);
}

TEST(FlowTraining, ALoopWithoutEndIsEndedByItsBound) {
  const Model network = train::initialize(parse(R"(graph endless(x: f32[?, 4]) {
  param @w: f32[4, 4]
  const @yes: bool[]
  l = while(cond=@yes, values=[x, @yes]) {states: 1} region body(v: f32[?, 4], on: bool[]) {
    a = linear(x=v, w=@w)
    b = tanh(x=a)
    return on, b
  }
  return l
})",
                                                "endless.ir"),
                                          1);
  Model endless = network;
  endless.tensors["yes"].data<bool>()[0] = true;
  const Dataset data = make_data(rows_with_labels("x", {4}, 0, 4), "rows");
  for (const bool keep_best : {false, true}) {
    const TrainOptions options{.epochs = 1, .batch = 20, .max_iterations = 50, .keep_best = keep_best};
    Diagnostic expected = errors::loop_exceeds_iterations(50);
    expected.where = "while 'l', iteration 50";
    EXPECT_EQ(test::diagnostic_of([&] { train(endless, data, options, {}); }), expected);
  }
}

/// Losses of consecutive steps on the same samples.
std::vector<float> losses(const Model& network, Tensors inputs, int64_t classes, float rate) {
  std::map<std::string, Dims> extents;
  for (const auto& [name, tensor] : inputs) extents.emplace(name, tensor.dims());
  const Model step = train::training_graph(network, extents, train::Loss::labels, {}, {});
  runtime::Program program = compile(step, {.freeze_tensors = false});
  ThreadPool pool(2);
  const int64_t batch = step.graph.value(train::kLabels).dims()[0];
  Tensor labels(DType::i32, {batch});
  for (int64_t i = 0; i < batch; ++i)
    labels.data<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(i % classes);
  inputs[train::kLabels] = labels;
  inputs[passes::kLearningRate] = Tensor::scalar(rate);
  std::vector<float> found;
  for (int i = 0; i < 20; ++i) found.push_back(program.run(inputs, pool).at(train::kLoss).data<float>()[0]);
  return found;
}

Tensor random_rows(const Dims& dims) {
  Tensor x(DType::f32, dims);
  Random random(1, 2);
  for (float& value : x.data<float>()) value = random.uniform();
  return x;
}

/// Operators behind rows whose number is only known at run time are compiled then. This includes updates of parameters.
TEST(FlowTraining, RowsWhoseNumberARunDecidesAreLearnedFrom) {
  Model network = train::initialize(parse(R"(graph rows(x: f32[4, 8], n: i64[]) {
  param @w: f32[8, 8]
  param @v: f32[4, 8]
  const @zero: i64[]
  const @one: i64[]
  go = less(a=@zero, b=n)
  l = while(cond=go, values=[@zero, x, n]) {states: 2} region body(i: i64[], h: f32[4, 8], last: i64[]) {
    a = linear(x=h, w=@w)
    b = tanh(x=a)
    j = add(a=i, b=@one)
    more = less(a=j, b=last)
    return more, j, b, a
  }
  m = reduce_mean(x=l.out2) {axes: [0], keep_dims: false}
  y = linear(x=m, w=@v)
  return y
})",
                                          "rows.ir"),
                                    1);
  const std::vector<int64_t> numbers = {0, 1, 5};
  network.tensors["zero"] = Tensor::of<int64_t>(DType::i64, {}, {numbers.data(), 1});
  network.tensors["one"] = Tensor::of<int64_t>(DType::i64, {}, {&numbers[1], 1});
  const std::vector<float> history = losses(
      network, {{"x", random_rows({4, 8})}, {"n", Tensor::of<int64_t>(DType::i64, {}, {&numbers[2], 1})}}, 4, 0.05F);
  EXPECT_LT(history.back(), 0.9F * history.front());
}

TEST(FlowTraining, NetworksOfOtherFrameworksLearn) {
  HS_NEEDS_TEST_DATA("models/control_flow");
  struct Case {
    std::string path;
    Tensors inputs;
    float rate;
  };
  const int64_t steps = 4;
  const std::vector<Case> cases = {
      {"control_flow/model.onnx", {{"data", random_rows({4, 3, 32, 32})}}, 0.005F},
      {"loop_if_ts17/model.onnx",
       {{"input", random_rows({4, 8})}, {"steps", Tensor::of<int64_t>(DType::i64, {}, {&steps, 1})}},
       0.05F},
      {"paddle_control_pir", {{"x", random_rows({4, 8})}}, 0.005F}};
  for (const Case& each : cases) {
    const std::vector<float> history = losses(load(test::test_data("models/" + each.path)), each.inputs, 4, each.rate);
    EXPECT_LT(history.back(), 0.95F * history.front()) << each.path;
  }
}

}  // namespace
}  // namespace halfstep::api
