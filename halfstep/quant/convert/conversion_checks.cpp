// Checks before and after conversion: the prepared network, and the integer program.
#include <algorithm>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/quant/convert/convert.h"
#include "halfstep/quant/convert/errors.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::quant {
namespace {

/// Whether an activation operand is a float value. Stored scales do not count, nor operands that only contain
/// positions.
bool touches_float(Op op) {
  for (int i = 0; const Value value : op.operands()) {
    const bool says_where = op.port_of(i++) == op.info().quant.index;
    if (value && !value.is_tensor() && is_float(value.dtype()) && !says_where) return true;
  }
  for (const Value value : op.results()) {
    if (is_float(value.dtype())) return true;
  }
  return false;
}

/// Reports quantizers of a kind that has no integer implementation.
void require_forms(const Model& prepared) {
  std::vector<Diagnostic> objections;
  const passes::QuantizerKinds kinds(prepared);
  for (const auto& quantizer : prepared.graph.all<ops::FakeQuantize>()) {
    const QuantizerTraits& traits = traits_of(kinds.of(quantizer));
    if (*traits.no_integers == 0) continue;
    const bool is_own = kinds.of(quantizer) == QuantizerKind::own;
    objections.push_back(
        placed(is_own ? errors::own_quantizer_without_scale(quantizer.where(), kinds.name_of(quantizer))
                      : errors::quantizer_kind_without_integers(quantizer.where(), traits.name, traits.no_integers),
               quantizer.name(), ""));
  }
  fail_on_any(std::move(objections));
}

}  // namespace

void require_integers(const Model& prepared, const ConvertOptions& options) {
  require_forms(prepared);
  const auto fallbacks = fallbacks_inside(prepared);
  if (fallbacks.empty() || options.float_fallback) return;
  fail(errors::operators_cannot_become_integers(prepared.graph.name(), describe(fallbacks)));
}

void require_activations(const Model& prepared) {
  const auto quantizers = prepared.graph.all<ops::FakeQuantize>();
  if (std::ranges::all_of(quantizers, [](const auto& quantizer) { return is_weight(quantizer); }))
    fail(errors::nothing_becomes_integers(prepared.graph.name()));
}

void require_program(const Model& model) {
  const FloatOperators& fallbacks = model.metadata.float_operators;
  const auto is_fallback = [&](Op op) { return op && fallbacks.contains(op.name()); };
  for (Op op : model.graph.all_ops()) {
    const bool enters =
        op.is<ops::Quantize>() && !op.in(0).is_tensor() && (!op.in(0).producer() || is_fallback(op.in(0).producer()));
    const bool leaves = op.is<ops::Dequantize>();
    if (!enters && !leaves && !is_fallback(op) && touches_float(op))
      fail(errors::float_operator_in_program(op.where(), op.info().name));
  }
}

}  // namespace halfstep::quant
