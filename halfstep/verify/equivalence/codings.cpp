#include "halfstep/verify/equivalence/codings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/core/base/status.h"
#include "halfstep/engine/compile/evaluate_operation.h"
#include "halfstep/verify/equivalence/errors.h"
#include "halfstep/verify/operators/product_elements.h"

namespace halfstep::verify {
namespace {

constexpr int64_t kMostPositions = int64_t{1} << 53;  ///< integers up to here are exact in float64

double rounded(double steps, Ties ties) {
  if (ties == Ties::away) return std::round(steps);
  if (ties == Ties::even) return std::nearbyint(steps);
  const double below = std::floor(steps);
  return steps - below >= 0.5 ? below + 1 : below;
}

CodeFormat format_of(const Model& prepared, const ops::FakeQuantize& quantizer) {
  return {static_cast<double>(scales_of(prepared, quantizer).front()),
          prepared.tensors.at(quantizer.zero_point().name()).data<int32_t>()[0],
          quantizer.code_min(),
          quantizer.code_max(),
          ties_of(quantizer),
          quantizer.requantize(),
          static_cast<int>(quantizer.multiplier_bits()),
          quantizer.shift_rounding(),
          static_cast<int>(quantizer.average_bits())};
}

/// Whether `op`, a reader of `value`, was removed by preparation: a folded part of a layer's tail, or a quantizer of
/// another framework.
bool was_taken_in(Op op, Value value, const Graph& prepared) {
  return (is_foreign_quantizer(op) || scaled_and_moved(op) == value) && !prepared.op(op.name());
}

/// Whether `op`, a reader of `value` at the end of a chain, is a separate layer in the prepared network, with the same
/// name. This is a product, or an operator that moves elements.
bool is_layer_now(Op op, Value value, const Graph& prepared) {
  const Op layer = scaled_and_moved(op) == value ? prepared.op(op.name()) : Op();
  return layer && (layer.info().quant.weight >= 0 || keeps_order(layer) || layer.is<ops::Transpose>());
}

/// Follows a chain to its end, including reshapes and transposes that the prepared network does not have.
Value end_of_chain(Value value, const Graph& prepared) {
  while (value.has_one_use()) {
    const Op op = value.uses().front().first;
    const bool is_move = keeps_order(op) || op.is<ops::Transpose>();
    const bool is_inside = is_move ? !prepared.op(op.name()) : was_taken_in(op, value, prepared);
    if (!is_inside) break;
    value = op.out(0);
  }
  return value;
}

class Join {
 public:
  Join(const Model& prepared, const Graph& integer, const Graph& source)
      : prepared_(prepared), integer_(integer), source_(source) {
    for (const auto& quantizer : prepared.graph.all<ops::FakeQuantize>()) claim(quantizer);
  }

  std::vector<Coding> run() {
    for (const Op op : integer_.ops()) {
      if (!op.is<ops::Dequantize>()) add(op);
    }
    return std::move(codings_);
  }

 private:
  /// Whether the operator computes codes for a float value of the prepared network. Values with unchanged types do not
  /// count.
  bool gives_codes(Op layer) const {
    const Op prepared = prepared_.graph.op(layer.name());
    return !is_float(layer.out(0).dtype()) && !(prepared && prepared.out(0).dtype() == layer.out(0).dtype());
  }

  /// Finds the layer whose codes the quantizer creates. It has the quantizer's name, the name of the operator before
  /// it, or, with a fused activation function, the name of the operator before that.
  void claim(const ops::FakeQuantize& quantizer) {
    const Op producer = quantizer.x().producer();
    const Op fused = producer && producer.operands().front() ? producer.operands().front().producer() : Op();
    for (const Op named : {Op(quantizer), producer, fused}) {
      const Op layer = named ? integer_.op(named.name()) : Op();
      if (!layer || !gives_codes(layer)) continue;
      quantizers_.emplace(layer.name(), quantizer);
      return;
    }
  }

  /// Operators with several results, such as branches and loops, have no codes.
  void add(Op op) {
    for (const Value result : op.results()) add(op, result);
  }

  /// Whether the result has positions of elements, which the order of codes determines.
  bool has_positions(Op op, Value result, const std::vector<size_t>& operands) const {
    const Trait trait = op.info().quant.trait;
    const bool is_position = trait == Trait::ranks || (trait == Trait::preserves_range && result.port() > 0);
    return is_position && !operands.empty() && !codings_[operands.front()].real;
  }

  void add(Op op, Value result) {
    Coding coding{result.name(),  op, !gives_codes(op), false, {}, {}, prepared_.graph.value(result.name()),
                  operands_of(op)};
    Value stands_for = result;
    if (has_positions(op, result, coding.operands)) {
      coding.real = false;
      coding.positions = true;
      coding.format = {.code_min = -kMostPositions, .code_max = kMostPositions};
    } else if (const auto found = quantizers_.find(op.name()); found != quantizers_.end()) {
      coding.format = format_of(prepared_, found->second);
      coding.prepared = found->second.out();
      stands_for = found->second.x();
    } else if (!coding.real) {
      coding.format = moved_format(coding);
    }
    coding.source = source_value(source_, prepared_.graph, stands_for);
    places_[result.node()] = codings_.size();
    codings_.push_back(std::move(coding));
  }

  std::vector<size_t> operands_of(Op op) const {
    std::vector<size_t> operands;
    for (const Value operand : op.operands()) {
      const Op producer = operand && !operand.is_tensor() ? operand.producer() : Op();
      const Value made = producer.is<ops::Dequantize>() ? producer.in(0) : operand;
      if (made && places_.contains(made.node())) operands.push_back(places_.at(made.node()));
    }
    return operands;
  }

  CodeFormat moved_format(const Coding& coding) const {
    const Op prepared = prepared_.graph.op(coding.layer);
    if (!prepared || &prepared.info() != &coding.op.info() || coding.operands.empty())
      fail(errors::semantic_check_incomplete(
          fmt::format("layer '{}'", coding.layer),
          fmt::format("code format by a quantizer of network '{}'", prepared_.graph.name())));
    return codings_[coding.operands.front()].format;
  }

  const Model& prepared_;
  const Graph &integer_, &source_;
  std::map<std::string, ops::FakeQuantize> quantizers_;  ///< by layer
  std::map<const detail::ValueNode*, size_t> places_;
  std::vector<Coding> codings_;
};

}  // namespace

int64_t CodeFormat::code(double steps) const {
  const double code = rounded(steps, ties) + static_cast<double>(zero_point);
  if (!(code >= static_cast<double>(code_min))) return code_min;
  return code > static_cast<double>(code_max) ? code_max : static_cast<int64_t>(code);
}

std::vector<Coding> codings_of(const Model& prepared, const Graph& integer, const Graph& source) {
  return Join(prepared, integer, source).run();
}

Value source_value(const Graph& source, const Graph& prepared, Value of) {
  const Value stored = of.is_tensor() ? source.tensor(of.name()) : Value();
  const Value value = stored ? Value() : source.value(of.name());
  if (!value) return stored;
  Value chain = value, end = value;
  while (end.has_one_use() && was_taken_in(end.uses().front().first, end, prepared)) {
    const Op op = end.uses().front().first;
    end = op.out(0);
    if (is_foreign_quantizer(op)) chain = end;
  }
  const Value last = end_of_chain(end, prepared);
  return last.has_one_use() && is_layer_now(last.uses().front().first, last, prepared) ? chain : end;
}

Ties ties_of(const ops::FakeQuantize& quantizer) {
  if (quantizer.rounding() == "half_even") return Ties::even;
  return quantizer.rounding() == "half_up" ? Ties::up : Ties::away;
}

std::vector<float> scales_of(const Model& prepared, const ops::FakeQuantize& quantizer) {
  const Op rounding = quantizer.scale().producer();
  const Tensor& stored = prepared.tensors.at((rounding ? rounding.in(0) : quantizer.scale()).name());
  const Tensor scales = rounding ? compiler::evaluate(rounding, {stored}).front() : stored;
  const auto values = scales.data<float>();
  return {values.begin(), values.end()};
}

}  // namespace halfstep::verify
