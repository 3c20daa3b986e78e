#include "halfstep/passes/canonical/layers/open_recurrent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

using Ints = std::vector<int64_t>;
constexpr int64_t kLast = std::numeric_limits<int64_t>::max();

/// The activation functions of steps by ONNX's names in lower case, in their default form.
const OpInfo* function_of(std::string name) {
  static const std::map<std::string, const OpInfo*> kFunctions = {{"sigmoid", &ops::Sigmoid::record()},
                                                                  {"tanh", &ops::Tanh::record()},
                                                                  {"relu", &ops::Relu::record()},
                                                                  {"softplus", &ops::Softplus::record()},
                                                                  {"softsign", &ops::Softsign::record()}};
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found = kFunctions.find(name);
  return found == kFunctions.end() ? nullptr : found->second;
}

/// A product with weights and a bias, or null.
struct Product {
  Value w, b;
};

/// Inserts operations, into a region or before an operation of the body. Names begin with the layer's.
struct Place {
  Graph* graph;
  Op layer;
  int* parts;  ///< number of parts so far, because no name may be the begin of another (separate_names.h)
  Block* block = nullptr;

  std::string name(std::string_view part) const { return fmt::format("{}.{}_{}", layer.name(), part, ++*parts); }
  Value insert(const OpInfo& info, std::vector<Value> operands, Attributes attributes = {}) const {
    const OpSpec spec{&info, std::move(operands), std::move(attributes), name(info.name), layer.location()};
    return (block != nullptr ? graph->insert(spec, block) : graph->insert(spec, nullptr, layer)).out(0);
  }
  Value linear(Value x, const Product& by) const { return insert(ops::Linear::record(), {x, by.w, by.b}); }
  Value sum(Value a, Value b) const { return insert(ops::Add::record(), {a, b}); }
  Value product(Value a, Value b) const { return insert(ops::Mul::record(), {a, b}); }
  Value part(Value x, int64_t axis, int64_t begin, int64_t end, int64_t step = 1) const {
    return insert(ops::Slice::record(), {x},
                  {{"starts", Ints{begin}}, {"ends", Ints{end}}, {"axes", Ints{axis}}, {"steps", Ints{step}}});
  }
  Value permuted(Value x, Ints perm) const {
    return insert(ops::Transpose::record(), {x}, {{"perm", std::move(perm)}});
  }
  Value without(Value x, int64_t axis) const { return insert(ops::Squeeze::record(), {x}, {{"axes", Ints{axis}}}); }
  Value with(Value x, int64_t axis) const { return insert(ops::Unsqueeze::record(), {x}, {{"axes", Ints{axis}}}); }
};

/// Weights of one direction, and the activation functions of its gates.
struct Direction {
  Product x, h;
  Product reset;  ///< product of the reset state of a GRU, where the reset gate comes first
  std::vector<const OpInfo*> functions;
  int64_t hidden;
};

/// The next states, the hidden state first.
using States = std::vector<Value>;
using Step = States (*)(const Place& at, const Direction& d, const States& states, Value x);

States lstm_step(const Place& at, const Direction& d, const States& states, Value x) {
  const int64_t h = d.hidden;
  const Value all = at.sum(at.linear(x, d.x), at.linear(states[0], d.h));
  const Value gates = at.insert(*d.functions[0], {at.part(all, 1, 0, 3 * h)});
  const Value candidate = at.insert(*d.functions[1], {at.part(all, 1, 3 * h, 4 * h)});
  const Value input = at.part(gates, 1, 0, h), output = at.part(gates, 1, h, 2 * h);
  const Value forget = at.part(gates, 1, 2 * h, 3 * h);
  const Value cell = at.sum(at.product(forget, states[1]), at.product(input, candidate));
  return {at.product(output, at.insert(*d.functions[2], {cell})), cell};
}

States gru_step(const Place& at, const Direction& d, const States& states, Value x) {
  const int64_t h = d.hidden;
  const Value from_x = at.linear(x, d.x), before = states[0];
  const Value from_h = at.linear(before, d.h);
  const Value gates = at.insert(*d.functions[0], {at.sum(at.part(from_x, 1, 0, 2 * h), at.part(from_h, 1, 0, 2 * h))});
  const Value update = at.part(gates, 1, 0, h), reset = at.part(gates, 1, h, 2 * h);
  const Value candidate = at.insert(
      *d.functions[1], {at.sum(at.part(from_x, 1, 2 * h, 3 * h), at.product(reset, at.part(from_h, 1, 2 * h, 3 * h)))});
  const Value change = at.product(update, at.insert(ops::Sub::record(), {before, candidate}));
  return {at.sum(candidate, change)};
}

/// A step of a GRU with the reset gate in front of the recurrent product of the candidate.
States reset_first_step(const Place& at, const Direction& d, const States& states, Value x) {
  const int64_t h = d.hidden;
  const Value from_x = at.linear(x, d.x), before = states[0];
  const Value gates = at.insert(*d.functions[0], {at.sum(at.part(from_x, 1, 0, 2 * h), at.linear(before, d.h))});
  const Value update = at.part(gates, 1, 0, h), reset = at.part(gates, 1, h, 2 * h);
  const Value from_reset = at.linear(at.product(reset, before), d.reset);
  const Value candidate = at.insert(*d.functions[1], {at.sum(at.part(from_x, 1, 2 * h, 3 * h), from_reset)});
  return {at.sum(candidate, at.product(update, at.insert(ops::Sub::record(), {before, candidate})))};
}

States rnn_step(const Place& at, const Direction& d, const States& states, Value x) {
  return {at.insert(*d.functions[0], {at.sum(at.linear(x, d.x), at.linear(states[0], d.h))})};
}

/// One kind of recurrent layer.
struct Recurrence {
  const OpInfo* op;
  int64_t gates;
  size_t states;
  std::vector<std::string> functions;  ///< activation functions of a direction if the layer names none
  Step step;
};

const Recurrence* recurrence_of(Op op) {
  static const Recurrence kRecurrences[] = {
      {&ops::Lstm::record(), 4, 2, {"sigmoid", "tanh", "tanh"}, lstm_step},
      {&ops::Gru::record(), 3, 1, {"sigmoid", "tanh"}, gru_step},
      {&ops::Rnn::record(), 1, 1, {"tanh"}, rnn_step},
  };
  const auto found = std::ranges::find(kRecurrences, &op.info(), &Recurrence::op);
  return found == std::end(kRecurrences) ? nullptr : found;
}

Value operand_of(Op layer, const char* port) {
  const int at = layer.info().input(port);
  return at < 0 ? Value() : layer.in(at);
}

bool flag_of(Op layer, const char* attribute) {
  return layer.info().attribute(attribute) != nullptr && get<bool>(layer.attributes(), attribute);
}

/// Names of the activation functions of all directions.
std::vector<std::string> function_names(Op layer, const Recurrence& kind) {
  std::vector<std::string> names = get<std::vector<std::string>>(layer.attributes(), "activations");
  const int64_t directions = operand_of(layer, "w").dims()[0];
  if (!names.empty()) return names;
  for (int64_t d = 0; d < directions; ++d) names.insert(names.end(), kind.functions.begin(), kind.functions.end());
  return names;
}

class Opened {
 public:
  Opened(Model& model, Op layer, const Recurrence& kind)
      : model_(model),
        layer_(layer),
        kind_(kind),
        at_{&model.graph, layer, &parts_},
        directions_(operand("w").dims()[0]),
        hidden_(operand("r").dims()[2]) {
    for (const std::string& name : function_names(layer, kind)) functions_.push_back(function_of(name));
  }

  void run() {
    const bool batch_first = get<int64_t>(layer_.attributes(), "layout") == 1;
    const Value given = operand("x"), x = batch_first ? at_.permuted(given, {1, 0, 2}) : given;
    std::vector<Value> sequences;
    std::vector<std::vector<Value>> last(kind_.states);
    for (int64_t d = 0; d < directions_; ++d) {
      const Op scan = direction(x, d);
      sequences.push_back(turned(scan.out(static_cast<int>(kind_.states)), d));
      for (size_t s = 0; s < kind_.states; ++s) last[s].push_back(scan.out(static_cast<int>(s)));
    }
    finish(0, sequences, 1, batch_first ? Ints{2, 0, 1, 3} : Ints{});
    for (size_t s = 0; s < kind_.states; ++s)
      finish(static_cast<int>(s + 1), last[s], 0, batch_first ? Ints{1, 0, 2} : Ints{});
    const std::string name = layer_.name();
    model_.graph.erase(layer_);
    if (named_) model_.graph.rename(named_, name);
  }

 private:
  Value operand(const char* port) const { return operand_of(layer_, port); }
  bool is_reverse(int64_t d) const { return d == 1 || get<std::string>(layer_.attributes(), "direction") == "reverse"; }

  /// The sequence from its end to its begin, for the reverse direction.
  Value turned(Value sequence, int64_t d) const {
    return is_reverse(d) ? at_.part(sequence, 0, -1, -kLast, -1) : sequence;
  }

  Op direction(Value x, int64_t d) {
    std::vector<Value> values;
    for (size_t s = 0; s < kind_.states; ++s) values.push_back(first_state(x, s, d));
    values.push_back(turned(x, d));
    const Direction weights = weights_of(d);
    const Op scan = model_.graph.insert({&ops::Scan::record(),
                                         values,
                                         {{"states", static_cast<int64_t>(kind_.states)}, {"scanned", int64_t{1}}},
                                         layer_.name() + (is_reverse(d) ? ".reverse" : ".forward"),
                                         layer_.location()},
                                        nullptr, layer_);
    Block& body = model_.graph.add_region(scan);
    States states;
    for (size_t s = 0; s < kind_.states; ++s) states.push_back(body.add_argument(at_.name("state"), values[s].type()));
    const Dims& dims = values.back().dims();
    const Value row = body.add_argument(at_.name("row"), {DType::f32, {dims[1], dims[2]}});
    const Step step = weights.reset.w ? reset_first_step : kind_.step;
    States results = step({&model_.graph, layer_, &parts_, &body}, weights, states, row);
    results.push_back(results[0]);
    body.set_outputs(results);
    scan.close_regions();
    return scan;
  }

  Value first_state(Value x, size_t state, int64_t d) const {
    const Value given = operand(state == 0 ? "initial_h" : "initial_c");
    if (given && !is_zero(given)) {
      if (is_stored_f32(given)) return stored_state(given, d);
      const bool batch_first = get<int64_t>(layer_.attributes(), "layout") == 1;
      const int64_t axis = batch_first ? 1 : 0;
      return at_.without(at_.part(given, axis, d, d + 1), axis);
    }
    const Value first = at_.part(at_.without(at_.part(x, 0, 0, 1), 0), 1, 0, 1);
    const Value zeros = at_.insert(ops::MaskFill::record(), {first, always(), zero()});
    return at_.insert(ops::Expand::record(), {zeros}, {{"dims", Ints{1, hidden_}}});
  }

  /// The part of a stored state that belongs to a direction, as a tensor.
  Value stored_state(Value given, int64_t d) const {
    const bool batch_first = get<int64_t>(layer_.attributes(), "layout") == 1;
    const int64_t samples = given.dims()[batch_first ? 0 : 1], size = hidden_;
    const auto from = std::as_const(model_.tensors.at(given.name())).data<float>();
    Tensor made(DType::f32, {samples, size});
    for (int64_t n = 0; n < samples; ++n) {
      const int64_t row = batch_first ? n * directions_ + d : d * samples + n;
      std::ranges::copy(from.subspan(static_cast<size_t>(row * size), static_cast<size_t>(size)),
                        made.data<float>().begin() + n * size);
    }
    return add_tensor(model_, given.name() + (is_reverse(d) ? ".reverse" : ".forward"), std::move(made), given.role());
  }

  /// Whether all elements are 0: a tensor of zeros, also where a file repeats it for each sample.
  bool is_zero(Value value) const {
    const Op op = value.producer();
    if (op) return moves_codes(op) && op.info().quant.fill < 0 && is_zero(op.in(0));
    return is_stored_f32(value) && std::ranges::all_of(std::as_const(model_.tensors.at(value.name())).data<float>(),
                                                       [](float number) { return number == 0; });
  }

  Value zero() const { return add_tensor(model_, layer_.name() + ".zero", Tensor::scalar(0.0F), Role::constant); }

  Value always() const {
    Tensor condition(DType::boolean, {1});
    condition.data<bool>()[0] = true;
    return add_tensor(model_, layer_.name() + ".always", std::move(condition), Role::constant);
  }

  Direction weights_of(int64_t d) {
    const int64_t size = kind_.gates * hidden_;
    const bool resets_first = kind_.op == &ops::Gru::record() && !flag_of(layer_, "linear_before_reset");
    const int64_t split = resets_first ? 2 * hidden_ : size;
    Direction made{{rows("w", "", d, 0, size), biases("", d, 0, size)},
                   {rows("r", "", d, 0, split), biases(".recurrent", d, size, size + split)},
                   {},
                   {},
                   hidden_};
    if (resets_first) {
      made.reset = {rows("r", ".candidate", d, split, size), biases(".candidate", d, size + split, 2 * size)};
    }
    const auto count = std::ssize(kind_.functions);
    made.functions.assign(functions_.begin() + d * count, functions_.begin() + (d + 1) * count);
    return made;
  }

  /// Rows [begin, end) of the matrix of a direction.
  Value rows(const char* port, const char* part, int64_t d, int64_t begin, int64_t end) {
    const Dims dims = operand(port).dims();
    return copied(port, part, d, {end - begin, dims[2]}, (d * dims[1] + begin) * dims[2]);
  }

  Value biases(const char* part, int64_t d, int64_t begin, int64_t end) {
    if (!operand("b")) return {};
    return copied("b", part, d, {end - begin}, d * operand("b").dims()[1] + begin);
  }

  /// A new tensor of the elements from `begin` on.
  Value copied(const char* port, const char* part, int64_t d, const Dims& dims, int64_t begin) {
    const Value original = operand(port);
    const auto from = std::as_const(model_.tensors.at(original.name())).data<float>();
    Tensor made(DType::f32, dims);
    std::ranges::copy(from.subspan(static_cast<size_t>(begin), static_cast<size_t>(made.size())),
                      made.data<float>().begin());
    return add_tensor(model_, fmt::format("{}{}{}", original.name(), part, is_reverse(d) ? ".reverse" : ".forward"),
                      std::move(made), original.role());
  }

  /// Replaces a result of the layer by those of its directions, along a new axis.
  void finish(int port, const std::vector<Value>& directions, int64_t axis, const Ints& perm) {
    const Value old = layer_.out(port);
    if (old.unused()) return;
    std::vector<Value> parts;
    for (const Value one : directions) parts.push_back(at_.with(one, axis));
    Value made = parts.size() == 1 ? parts[0] : at_.insert(ops::Concat::record(), parts, {{"axis", axis}});
    if (!perm.empty()) made = at_.permuted(made, perm);
    old.replace_all_uses_with(made);
    if (port == 0) named_ = made.producer();
  }

  Model& model_;
  Op layer_;
  const Recurrence& kind_;
  int parts_ = 0;
  Place at_;
  Op named_;  ///< takes the name of the layer
  int64_t directions_, hidden_;
  std::vector<const OpInfo*> functions_;
};

}  // namespace

std::string recurrent_obstacle(Op op) {
  const Recurrence* recurrence = recurrence_of(op);
  if (recurrence == nullptr) return "";
  for (const std::string& name : function_names(op, *recurrence)) {
    if (function_of(name) == nullptr) return fmt::format("its activation function {} has no table", name);
  }
  if (operand_of(op, "sequence_lens")) return "its sequences have lengths";
  if (operand_of(op, "p")) return "it has peepholes";
  if (flag_of(op, "input_forget")) return "its input and forget gates are coupled";
  if (get<double>(op.attributes(), "clip") != 0.0) return "it clips its gates";
  const Value x = operand_of(op, "x"), bias = operand_of(op, "b");
  const bool is_f32 = x.dtype() == DType::f32 && !x.is_tensor() && is_stored_f32(operand_of(op, "w")) &&
                      is_stored_f32(operand_of(op, "r")) && (!bias || is_stored_f32(bias));
  return is_f32 ? "" : "its sequences are stored, or its weights are computed or not f32";
}

void open_recurrent(Model& model, const std::set<std::string>& kept) {
  for (const Op op : model.graph.ops()) {
    const Recurrence* kind = recurrence_of(op);
    if (kind == nullptr || kept.contains(op.name())) continue;
    if (recurrent_obstacle(op).empty()) Opened(model, op, *kind).run();
  }
  for (const Value tensor : model.graph.tensors()) {
    if (tensor.unused()) erase_tensor(model, tensor);
  }
}

}  // namespace halfstep::passes
