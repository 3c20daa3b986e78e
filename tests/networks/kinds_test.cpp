// How often random networks contain the structures that the recipes are for, so that no recipe disappears unnoticed.
// The networks are read as files: nothing here knows the recipes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "halfstep/fuzz/networks/generate.h"

namespace halfstep::fuzz {
namespace {

namespace proto = formats::onnx::proto;

const std::set<std::string> kLayers = {"Conv", "MatMul", "Gemm"};
const std::set<std::string> kOnExtents = {"ConstantOfShape", "Expand", "Gather", "Range", "Resize", "Slice"};

class Kinds {
 public:
  explicit Kinds(const Network& network) : network_(network) {
    const auto& graph = network.model.graph();
    for (const auto& tensor : graph.initializer())
      extents_[tensor.name()] = {tensor.dims().begin(), tensor.dims().end()};
    for (const auto& node : graph.node()) {
      for (const auto& output : node.output()) makers_[output] = &node;
    }
  }

  std::set<std::string> run() {
    find_batch();
    if (!network_.elsewhere.empty()) found_.insert("dynamic dimensions");
    for (const auto& node : network_.model.graph().node()) {
      if (node.output_size() == 1 && network_.on_codes.contains(node.output(0))) find_form(node);
      if (node.op_type() == "Gather") find_index(node);
      if (!network_.elsewhere.empty() && kOnExtents.contains(node.op_type()))
        found_.insert("dynamic dimensions, " + node.op_type());
    }
    find_shared();
    return std::move(found_);
  }

 private:
  void find_batch() {
    if (!network_.rows || network_.samples == 0) return;
    found_.insert(network_.dynamic_batch ? "open batch" : network_.batch == 1 ? "batch of 1" : "batch of n");
  }

  const proto::Node* maker_of(const std::string& value) const {
    const auto found = makers_.find(value);
    return found == makers_.end() ? nullptr : found->second;
  }
  std::string maker_name(const std::string& value) const {
    const proto::Node* maker = maker_of(value);
    return maker == nullptr ? "" : maker->op_type();
  }

  /// Position of an operator of a tail, or of a chain without a layer.
  std::string place_of(const std::string& x) const {
    const std::string maker = maker_name(x);
    if (maker == "Transpose" || maker == "Reshape") return "behind a " + maker;
    return kLayers.contains(maker) || network_.on_codes.contains(x) ? "behind a layer" : "alone";
  }

  void find_form(const proto::Node& node) {
    const std::string& op = node.op_type();
    if (op == "BatchNormalization") {
      found_.insert(op + " " + place_of(node.input(0)));
    } else if (op == "Clip") {
      const bool has_low = node.input_size() > 1 && !node.input(1).empty(), has_high = node.input_size() > 2;
      found_.insert(op + (has_low ? " from below" : "") + (has_high ? " from above" : ""));
    } else if (op == "Sum" || op == "Max" || op == "Min") {
      found_.insert(op);
    } else if (op == "Add" || op == "Sub" || op == "Mul" || op == "Div") {
      for (const int at : {0, 1}) {
        if (const auto numbers = extents_.find(node.input(at)); numbers != extents_.end())
          find_affine(node, at, numbers->second);
      }
    }
  }

  /// An operator with numbers as the operand `at`.
  void find_affine(const proto::Node& node, int at, const Dims& numbers) {
    const std::string& op = node.op_type();
    found_.insert(op + (at == 0 ? ", numbers first" : ", numbers last"));
    found_.insert("numbers by channel " + place_of(node.input(1 - at)));
    const Dims& dims = network_.values.at(node.output(0)).type.dims;
    const bool is_one = count_elements(numbers) == 1;
    found_.insert(is_one                          ? "one number for all channels"
                  : numbers.size() == dims.size() ? "numbers by channel, all axes"
                  : numbers.size() == 1           ? "numbers by channel, one axis"
                                                  : "numbers by channel, some axes");
  }

  /// Integers that were converted from floats select the elements of a gather.
  void find_index(const proto::Node& node) {
    const proto::Node* cast = maker_of(node.input(1));
    if (cast == nullptr || cast->op_type() != "Cast") return;
    const auto real = network_.values.find(cast->input(0));
    if (real == network_.values.end() || !is_float(real->second.type.dtype)) return;
    found_.insert("index of floats");
    find_chain(cast->input(0));
  }

  void find_chain(const std::string& value) {
    const proto::Node* maker = maker_of(value);
    if (maker == nullptr || maker->op_type() == "Shape") return;
    found_.insert("index of floats, " + maker->op_type());
    for (const auto& input : maker->input()) find_chain(input);
  }

  void find_shared() {
    std::map<std::string, int> readers, layers;
    for (const auto& node : network_.model.graph().node()) {
      for (int i = 0; i < node.input_size(); ++i) {
        const auto found = extents_.find(node.input(i));
        if (found == extents_.end() || count_elements(found->second) < 2) continue;
        ++readers[node.input(i)];
        if (i == 1 && kLayers.contains(node.op_type())) ++layers[node.input(i)];
      }
    }
    const auto is_shared = [](const auto& count) { return count.second > 1; };
    if (std::ranges::any_of(readers, is_shared)) found_.insert("shared tensor");
    if (std::ranges::any_of(layers, is_shared)) found_.insert("shared weight of layers");
  }

  const Network& network_;
  std::map<std::string, Dims> extents_;  ///< extents of initializers
  std::map<std::string, const proto::Node*> makers_;
  std::set<std::string> found_;
};

/// About half of the current counts.
const std::map<std::string, int64_t> kLeast = {
    {"Add, numbers last", 40},
    {"Add, numbers first", 25},
    {"Sub, numbers last", 40},
    {"Sub, numbers first", 8},
    {"Mul, numbers last", 40},
    {"Mul, numbers first", 30},
    {"Div, numbers last", 45},
    {"numbers by channel behind a layer", 150},
    {"numbers by channel behind a Transpose", 15},
    {"numbers by channel behind a Reshape", 7},
    {"numbers by channel alone", 15},
    {"numbers by channel, all axes", 70},
    {"numbers by channel, some axes", 60},
    {"numbers by channel, one axis", 35},
    {"one number for all channels", 35},
    {"BatchNormalization behind a layer", 50},
    {"BatchNormalization behind a Transpose", 50},
    {"BatchNormalization behind a Reshape", 50},
    {"BatchNormalization alone", 15},
    {"Sum", 35},
    {"Max", 35},
    {"Min", 35},
    {"Clip", 7},
    {"Clip from below", 10},
    {"Clip from above", 8},
    {"Clip from below from above", 7},
    {"batch of 1", 190},
    {"batch of n", 70},
    {"open batch", 370},
    {"dynamic dimensions", 115},
    {"dynamic dimensions, ConstantOfShape", 35},
    {"dynamic dimensions, Expand", 70},
    {"dynamic dimensions, Gather", 75},
    {"dynamic dimensions, Range", 65},
    {"dynamic dimensions, Resize", 50},
    {"dynamic dimensions, Slice", 80},
    {"index of floats", 35},
    {"index of floats, Range", 35},
    {"index of floats, ConstantOfShape", 19},
    {"index of floats, Div", 15},
    {"index of floats, Floor", 10},
    {"shared tensor", 250},
    {"shared weight of layers", 14},
};

TEST(Kinds, ComeOften) {
  constexpr uint64_t kSeeds = 1500;
  std::map<std::string, int64_t> counts;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Network network = generate(seed);
    for (const std::string& kind : Kinds(network).run()) ++counts[kind];
  }
  for (const auto& [kind, least] : kLeast) EXPECT_GE(counts[kind], least) << kind;
}

}  // namespace
}  // namespace halfstep::fuzz
