#include <limits>

#include "halfstep/core/base/random.h"
#include "tests/ir/ir_test.h"

namespace halfstep {
namespace {

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed, 1) {}

  Graph make() {
    Graph graph(odd_name());
    const int64_t tensors = below(4);
    std::vector<Value> values;
    for (int64_t i = 0; i < 1 + below(3); ++i)
      values.push_back(graph.add_argument(graph.unique_name(odd_name()), {DType::f32, {extent(), extent()}}));
    for (int64_t i = 0; i < tensors; ++i) {
      const std::string name = odd_name() + std::to_string(i);
      values.push_back(graph.add_tensor(name, {DType::f32, {2, 3}}, static_cast<Role>(below(3))));
    }
    fill(graph, graph.body(), values, 0);
    return graph;
  }

 private:
  static constexpr int kDeepest = 3;

  int64_t below(uint64_t bound) { return static_cast<int64_t>(random_.below(bound)); }
  bool coin() { return below(2) == 0; }
  int64_t extent() { return below(4) - 1; }

  std::string odd_name() {
    static const std::vector<std::string> kNames = {"conv1",
                                                    "/layer1/layer1.0/conv1/Conv_output_0",
                                                    "return",
                                                    "at",
                                                    "region",
                                                    "param",
                                                    "a b",
                                                    "x=y",
                                                    "\"",
                                                    "\\",
                                                    "tab\there",
                                                    "line\nbreak",
                                                    "caf\xc3\xa9",
                                                    "bad\xff",
                                                    std::string("nul\0", 4),
                                                    "@w",
                                                    "1st",
                                                    "-",
                                                    "graph",
                                                    "true",
                                                    "inf",
                                                    "a:0",
                                                    "#"};
    return kNames[random_.below(kNames.size())];
  }

  double real() {
    static const std::vector<double> kFloats = {0.0,  -0.0,  0.1,    1.0,         1e-5,
                                                1e15, 1e300, 5e-324, 123456789.0, 0x1.fffffffffffffp1023};
    switch (below(6)) {
      case 0: return std::numeric_limits<double>::infinity();
      case 1: return -std::numeric_limits<double>::infinity();
      case 2: return std::numeric_limits<double>::quiet_NaN();
      case 3: return random_.normal();
      default: return kFloats[random_.below(kFloats.size())];
    }
  }

  Attributes settings() {
    Attributes attributes;
    if (coin()) attributes.emplace("on", coin());
    if (coin()) attributes.emplace("count", coin() ? std::numeric_limits<int64_t>::min() : int64_t{7});
    if (coin()) attributes.emplace("ratio", real());
    if (coin()) attributes.emplace("mode", std::string(coin() ? "fast" : "exact"));
    if (coin()) attributes.emplace("text", odd_name());
    if (coin()) attributes.emplace("pad", std::vector<int64_t>(static_cast<size_t>(below(4)), -3));
    if (coin()) attributes.emplace("scales", std::vector<double>(static_cast<size_t>(below(4)), real()));
    if (coin()) attributes.emplace("names", std::vector<std::string>(static_cast<size_t>(below(4)), odd_name()));
    return attributes;
  }

  OpSpec any_spec(Graph& graph, const std::vector<Value>& values) {
    const Value x = values[random_.below(values.size())];
    const std::string name = coin() ? odd_name() : "";
    switch (below(6)) {
      case 0: return spec("relu", {x}, {}, name);
      case 1: return spec("concat", {x, x, x}, {{"axis", below(2)}}, name);
      case 2: return spec("settings", {x}, settings(), name);
      case 3: return spec("sink", {x}, {}, name);
      case 4: return spec("if", {x}, {}, name);
      default: return observe(graph, x, name);
    }
  }

  OpSpec observe(Graph& graph, Value x, const std::string& name) {
    const bool is_test = coin();
    const auto tensor = [&](const std::string& called, Type type) {
      return graph.tensor(called) ? graph.tensor(called) : graph.add_tensor(called, std::move(type), Role::state);
    };
    std::vector<Value> operands = {x, tensor("scale", {DType::f32, {1}})};
    if (!is_test) operands.push_back(tensor("iter", {DType::i64, {1}}));
    return spec("observe", operands, {{"is_test", is_test}, {"momentum", real()}}, name);
  }

  void fill(Graph& graph, Block& block, std::vector<Value> values, int depth) {
    for (int64_t i = below(8); i > 0; --i) {
      OpSpec made = any_spec(graph, values);
      if (depth == kDeepest && !made.info->regions.empty()) continue;
      if (coin()) made.location = {"net.py", static_cast<int>(below(1000))};
      const Op op = graph.insert(std::move(made), &block);
      for (size_t r = 0; r < op.info().regions.size(); ++r) {
        Block& region = graph.add_region(op);
        std::vector<Value> inner = {region.add_argument(graph.unique_name("v"), {DType::f64, {extent(), 5}})};
        fill(graph, region, std::move(inner), depth + 1);
      }
      for (const Value result : op.results()) {
        if (result.dims().size() == 2 && is_float(result.dtype())) values.push_back(result);
      }
    }
    std::vector<Value> outputs(values.begin() + below(values.size()), values.end());
    std::vector<std::string> names;
    for (size_t i = 0; i < outputs.size(); ++i)
      names.push_back(coin() ? outputs[i].name() + "!" + std::to_string(i) : "o" + std::to_string(i));
    block.set_outputs(std::move(outputs), std::move(names));
  }

  Random random_;
};

}  // namespace

Graph random_graph(uint64_t seed) { return Maker(seed).make(); }

}  // namespace halfstep
