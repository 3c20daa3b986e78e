#include "halfstep/engine/capture/layers/recurrent.h"

#include <fmt/format.h>

#include <map>
#include <span>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/op_info.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/capture/apply.h"
#include "halfstep/engine/capture/errors.h"
#include "halfstep/engine/capture/layers/functions.h"

namespace halfstep::capture {
namespace layers {
namespace {

/// torch.nn's gates in the order of the operators.
const std::map<std::string, std::vector<int64_t>> kGates = {{"lstm", {0, 3, 1, 2}}, {"gru", {1, 0, 2}}, {"rnn", {0}}};

Array joined(const Arrays& parts) { return apply(ops::Concat::record(), {{"axis", int64_t{0}}}, parts)[0]; }

/// One layer: its operator with parameters in the operator's form.
class Layer {
 public:
  Layer(const Recurrent& how, std::span<const Array> parameters) : how_(how), parameters_(parameters) {}

  int64_t directions() const { return how_.options.bidirectional ? 2 : 1; }

  Arrays run(const Array& x, const Arrays& states) const {
    const OpInfo& info = require_operator(how_.op, "layer");
    Arrays operands(info.inputs.size());
    const auto set = [&](const char* port, Array operand) {
      operands[static_cast<size_t>(info.input(port))] = std::move(operand);
    };
    const auto gates = static_cast<int64_t>(kGates.at(how_.op).size()) * how_.hidden;
    set("x", x);
    set("w", gathered({0}, {directions(), gates, -1}));
    set("r", gathered({1}, {directions(), gates, -1}));
    if (how_.options.bias) set("b", gathered({2, 3}, {directions(), 2 * gates}));
    if (!states.empty()) set("initial_h", states[0]);
    if (states.size() > 1) set("initial_c", states[1]);
    Attributes attributes = {{"direction", std::string(directions() == 2 ? "bidirectional" : "forward")}};
    if (how_.op == "gru") attributes.insert({"linear_before_reset", true});
    if (how_.op == "rnn")
      attributes.insert({"activations", std::vector(static_cast<size_t>(directions()), how_.activation)});
    return apply(info, attributes, operands);
  }

 private:
  /// The parameters at these places of each direction, with the operator's order of gates.
  Array gathered(std::initializer_list<size_t> places, const Dims& dims) const {
    Arrays gates;
    const size_t each = how_.options.bias ? 4 : 2;
    for (size_t first = 0; first < parameters_.size(); first += each) {
      for (const size_t place : places) {
        for (const int64_t gate : kGates.at(how_.op))
          gates.push_back(rows(parameters_[first + place], gate * how_.hidden, (gate + 1) * how_.hidden));
      }
    }
    return reshaped(joined(gates), dims);
  }

  const Recurrent& how_;
  std::span<const Array> parameters_;
};

}  // namespace

Arrays recurrent(const Array& x, const Arrays& states, const Arrays& parameters, const Recurrent& how) {
  const size_t depth = static_cast<size_t>(how.options.num_layers), each = parameters.size() / depth;
  Array y = how.options.batch_first ? transposed(x, {1, 0, 2}) : x;
  std::vector<Arrays> last(how.op == "lstm" ? 2 : 1);
  for (size_t i = 0; i < depth; ++i) {
    const Layer layer(how, std::span(parameters).subspan(i * each, each));
    const int64_t count = layer.directions(), first = static_cast<int64_t>(i) * count;
    if (i > 0 && how.options.dropout > 0) y = dropout(y, how.options.dropout);
    Arrays own;
    for (const Array& state : states) own.push_back(rows(state, first, first + count));
    const Arrays found = layer.run(y, own);
    for (size_t s = 0; s < last.size(); ++s) last[s].push_back(found[s + 1]);
    // [length, directions, n, hidden] -> [length, n, directions * hidden]
    y = reshaped(transposed(found[0], {0, 2, 1, 3}), {0, 0, count * how.hidden});
  }
  Arrays results = {how.options.batch_first ? transposed(y, {1, 0, 2}) : y};
  for (const Arrays& state : last) results.push_back(depth == 1 ? state[0] : joined(state));
  return results;
}

}  // namespace layers

RecurrentLayers::RecurrentLayers(int64_t in, int64_t gates, layers::Recurrent how)
    : how_(std::move(how)), dropout_(how_.options.dropout) {
  if (how_.options.num_layers < 1)
    fail(errors::layer_setting_invalid(how_.op + ": num_layers", std::to_string(how_.options.num_layers), "1 or more"));
  const int64_t hidden = how_.hidden, outputs = how_.options.bidirectional ? 2 * hidden : hidden;
  for (int64_t layer = 0; layer < how_.options.num_layers; ++layer) {
    for (const char* direction : {"", "_reverse"}) {
      if (*direction != '\0' && !how_.options.bidirectional) continue;
      const auto add = [&](const char* name, const Dims& dims) {
        all_.push_back(parameter(fmt::format("{}_l{}{}", name, layer, direction), within(dims, hidden)));
      };
      add("weight_ih", {gates * hidden, layer == 0 ? in : outputs});
      add("weight_hh", {gates * hidden, hidden});
      if (!how_.options.bias) continue;
      add("bias_ih", {gates * hidden});
      add("bias_hh", {gates * hidden});
    }
  }
}

Array RecurrentLayers::operator()(const Array& x) { return (*this)(x, Arrays())[0]; }

Arrays RecurrentLayers::operator()(const Array& x, const Arrays& states) {
  layers::Recurrent how = how_;
  if (!switches().training) how.options.dropout = 0;
  return layers::recurrent(x, states, all_, how);
}

Rnn::Rnn(int64_t in, int64_t hidden, const RecurrentOptions& options, const std::string& nonlinearity)
    : RecurrentLayers(in, 1, {"rnn", nonlinearity == "relu" ? "Relu" : "Tanh", hidden, options}) {
  if (nonlinearity != "relu" && nonlinearity != "tanh")
    fail(errors::layer_setting_invalid("RNN: nonlinearity", fmt::format("'{}'", nonlinearity), "tanh or relu"));
}

Lstm::Lstm(int64_t in, int64_t hidden, const RecurrentOptions& options)
    : RecurrentLayers(in, 4, {"lstm", "", hidden, options}) {}

Gru::Gru(int64_t in, int64_t hidden, const RecurrentOptions& options)
    : RecurrentLayers(in, 3, {"gru", "", hidden, options}) {}

}  // namespace halfstep::capture
