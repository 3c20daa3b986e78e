// Layers of LSTM, GRU or simple recurrent networks, one operator for each.
#include <fmt/format.h>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {
namespace {

/// Halfstep's operator, and the positions of its gates in Paddle's order.
struct Cell {
  std::string_view op;
  std::vector<size_t> gates;
  Attributes attributes;
};

Cell cell_of(const Node& node) {
  const std::string mode = node.text("mode", "RNN_TANH");
  if (mode == "LSTM") return {"lstm", {0, 3, 1, 2}, {}};
  if (mode == "GRU") return {"gru", {1, 0, 2}, {{"linear_before_reset", true}}};
  if (mode == "RNN_TANH") return {"rnn", {0}, {}};
  fail(errors::form_not_supported(node.where(), "mode " + quote(mode), "LSTM, GRU or RNN_TANH", ""));
}

class Network {
 public:
  Network(Translator& translator, const Node& node)
      : translator_(translator),
        node_(node),
        cell_(cell_of(node)),
        layers_(node.integer("num_layers", 1)),
        hidden_(node.integer("hidden_size", 0)),
        directions_(node.flag("is_bidirec", false) ? 2 : 1),
        weights_(translator.in_list(node, {"WeightList", 2})),
        states_(translator.in_list(node, {"PreState", 1})),
        lengths_(translator.in(node, {"SequenceLength", 3})) {
    constexpr size_t kWeightsOfCell = 4;  // of inputs, of states, and a bias of each
    const size_t count = kWeightsOfCell * cells();
    if (layers_ < 1 || layers_ > kMaxLayers || hidden_ < 1 || weights_.size() != count)
      fail(errors::wrong_count(node.where(), fmt::format("weights of {} layers", layers_), weights_.size(), count));
    if (const size_t wanted = cell_.op == "lstm" ? 2 : 1; states_.size() != wanted)
      fail(errors::wrong_count(node.where(), "states", states_.size(), wanted));
    if (lengths_.there()) lengths_ = make("cast", {lengths_}, {{"to", std::string("i32")}});
  }

  void run() {
    Operand x = translator_.require(node_, {"Input", 0});
    std::vector<std::vector<Operand>> last(states_.size());
    for (int64_t layer = 0; layer < layers_; ++layer) {
      const std::vector<Operand> results = run_layer(layer, x);
      for (size_t i = 0; i < last.size(); ++i) last[i].push_back(results[i + 1]);
      const Operand side = make("transpose", {results[0]}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
      x = translator_.reshaped(node_, side, {0, 0, directions_ * hidden_});
    }
    translator_.set(node_, {"Out", 0}, x);
    std::vector<Operand> states;
    for (const auto& of_layers : last) states.push_back(joined(of_layers));
    translator_.set_list(node_, {"State", 2}, states);
  }

 private:
  static constexpr int64_t kMaxLayers = 1024;

  size_t cells() const { return static_cast<size_t>(layers_ * directions_); }

  Operand make(std::string_view op, const std::vector<Operand>& operands, const Attributes& attributes) {
    return translator_.make_one(node_, op, operands, attributes);
  }

  /// Concatenates along the first axis.
  Operand joined(const std::vector<Operand>& parts) {
    return parts.size() == 1 ? parts[0] : make("concat", parts, {{"axis", int64_t{0}}});
  }

  Operand part(const Operand& whole, int64_t start, int64_t count) {
    return make("slice", {whole},
                {{"starts", std::vector<int64_t>{start}}, {"ends", std::vector<int64_t>{start + count}}});
  }

  /// Reorders the gates to Halfstep's order.
  Operand reordered(const Operand& weights) {
    if (cell_.gates.size() == 1) return weights;
    std::vector<Operand> parts;
    for (const size_t gate : cell_.gates) parts.push_back(part(weights, static_cast<int64_t>(gate) * hidden_, hidden_));
    return joined(parts);
  }

  Operand row(const Operand& operand) { return make("unsqueeze", {operand}, {{"axes", std::vector<int64_t>{0}}}); }

  std::vector<Operand> run_layer(int64_t layer, const Operand& x) {
    std::vector<Operand> w, r, b;
    for (int64_t direction = 0; direction < directions_; ++direction) {
      const auto cell = static_cast<size_t>(layer * directions_ + direction);
      const size_t bias = 2 * cells() + 2 * cell;
      w.push_back(row(reordered(weights_[2 * cell])));
      r.push_back(row(reordered(weights_[2 * cell + 1])));
      b.push_back(row(joined({reordered(weights_[bias]), reordered(weights_[bias + 1])})));
    }
    std::vector<Operand> operands = {x, joined(w), joined(r), joined(b), lengths_};
    for (const Operand& state : states_) operands.push_back(part(state, layer * directions_, directions_));
    Attributes attributes = cell_.attributes;
    attributes["direction"] = std::string(directions_ == 2 ? "bidirectional" : "forward");
    return translator_.make(node_, cell_.op, std::move(operands), attributes);
  }

  Translator& translator_;
  const Node& node_;
  const Cell cell_;
  const int64_t layers_, hidden_, directions_;
  const std::vector<Operand> weights_, states_;
  Operand lengths_;
};

}  // namespace

void translate_rnn(Translator& translator, const Node& node) {
  if (!node.flag("is_test", false) && node.real("dropout_prob", 0) != 0)
    fail(errors::form_not_supported(node.where(), "a node for training", "a node for evaluation",
                                    "export the network for evaluation"));
  node.real("dropout_prob", 0), node.integer("input_size", 0);  // only used in training, or given by the weights
  node.input({"", 4});                                          // state of dropout
  Network(translator, node).run();
}

}  // namespace halfstep::formats::paddle
