#include "halfstep/passes/optimize/coded_regions.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/builder_behind.h"
#include "halfstep/passes/graph/traits.h"

namespace halfstep::passes {
namespace {

using ops::Dequantize, ops::Quantize;

bool is_for_tensor(Op op) { return get<int64_t>(op.attributes(), "axis") == -1; }

/// Whether scale and zero point are stored. A computed scale is known in its region only.
bool has_stored_numbers(Op op) { return is_for_tensor(op) && op.in(1).is_tensor() && op.in(2).is_tensor(); }

/// Whether all codes are in code_min..code_max of the quantizer.
bool are_in_range(Value codes, const Quantize& quantizer) {
  const auto [lowest, highest] = whole_range(quantizer.out().dtype());
  if (static_cast<double>(quantizer.code_min()) <= lowest && static_cast<double>(quantizer.code_max()) >= highest)
    return true;
  const Value made = unmoved(codes);
  const Op op = made.producer();
  if (!op) return false;
  if (!op.regions().empty()) {
    const auto port = FlowParts(op).conditions + static_cast<size_t>(made.port());
    return std::ranges::all_of(op.regions(),
                               [&](const auto& region) { return are_in_range(region->outputs()[port], quantizer); });
  }
  const auto& attributes = op.attributes();
  return attributes.contains("code_min") && attributes.contains("code_max") &&
         get<int64_t>(attributes, "code_min") >= quantizer.code_min() &&
         get<int64_t>(attributes, "code_max") <= quantizer.code_max();
}

class CodedRegions {
 public:
  explicit CodedRegions(Model& model) : model_(model), graph_(model.graph) {}

  /// Returns whether anything changed.
  bool run() {
    changed_ = false;
    for (const Op op : graph_.all_ops()) {
      if (op.is<Quantize>()) remove_pair(Quantize(op.node()));
    }
    for (const Op op : graph_.all_ops()) {
      if (op.info().flow == Flow::none || op.info().flow == Flow::backward) continue;
      const FlowParts parts(op);
      for (size_t i = 0; i < parts.taken(); ++i) quantize_outside(op, parts, i);
      for (size_t i = parts.states; i < op.results().size(); ++i) dequantize_outside(op, parts, i);
    }
    return changed_;
  }

 private:
  bool are_same(Value a, Value b) const {
    return a == b ||
           (a.is_tensor() && b.is_tensor() && model_.tensors.at(a.name()).same_bits(model_.tensors.at(b.name())));
  }

  /// Whether both operations have the same scale and zero point.
  bool have_same_numbers(Op a, Op b) const { return are_same(a.in(1), b.in(1)) && are_same(a.in(2), b.in(2)); }

  void remove_pair(const Quantize& quantize) {
    const auto dequantize = quantize.x().producer<Dequantize>();
    if (!dequantize || !is_for_tensor(quantize) || !is_for_tensor(*dequantize)) return;
    const Value codes = dequantize->x();
    if (codes.type() != quantize.out().type() || !have_same_numbers(quantize, *dequantize)) return;
    if (!are_in_range(codes, quantize)) return;
    quantize.out().replace_all_uses_with(codes);
    graph_.erase(quantize);
    changed_ = true;
  }

  /// The quantizers of an argument, if nothing else reads it. The return of a state that does not change is no reader.
  std::optional<std::vector<Quantize>> only_quantizers(Op op, const FlowParts& parts, size_t i) const {
    std::vector<Quantize> found;
    for (const auto& region : op.regions()) {
      for (const auto& [user, operand] : region->arguments()[i].uses()) {
        const bool is_kept =
            i < parts.states && user == region->return_op() && operand == static_cast<int>(parts.conditions + i);
        if (is_kept) continue;
        if (!user.is<Quantize>() || !has_stored_numbers(user)) return std::nullopt;
        const Quantize& added = found.emplace_back(user.node());
        if (added.attributes() != found[0].attributes() || !have_same_numbers(added, found[0])) return std::nullopt;
      }
    }
    return found.empty() ? std::nullopt : std::optional(found);
  }

  /// For a state: the codes that an iteration returns. The argument itself if the state does not change.
  std::optional<Value> codes_of_state(Op op, const FlowParts& parts, size_t i, const Quantize& quantize) const {
    const Block& body = *op.regions()[0];
    const Value next = body.outputs()[parts.conditions + i], argument = body.arguments()[i];
    if (next == argument) return argument;
    const auto dequantize = next.producer<Dequantize>();
    if (!dequantize || !is_for_tensor(*dequantize) || !have_same_numbers(quantize, *dequantize)) return std::nullopt;
    if (dequantize->x().dtype() != quantize.out().dtype() || next.dims() != argument.dims()) return std::nullopt;
    return are_in_range(dequantize->x(), quantize) ? std::optional(dequantize->x()) : std::nullopt;
  }

  /// Whether the first value of a state is no result, or its readers only quantize it alike.
  bool may_start_as_codes(Op op, const FlowParts& parts, size_t i, const Quantize& quantize) const {
    const bool iterates = op.info().flow == Flow::scan && op.operands()[parts.first + parts.states].dims()[0] > 0;
    return iterates || std::ranges::all_of(op.out(static_cast<int>(i)).uses(), [&](const auto& use) {
             const Op user = use.first;
             return user.is<Quantize>() && user.attributes() == quantize.attributes() &&
                    have_same_numbers(user, quantize);
           });
  }

  void quantize_outside(Op op, const FlowParts& parts, size_t i) {
    const auto quantizers = only_quantizers(op, parts, i);
    if (!quantizers) return;
    const Quantize first = quantizers->front();
    const bool is_state = i < parts.states;
    const auto next = is_state ? codes_of_state(op, parts, i, first) : std::optional<Value>();
    if (is_state && (!next || !may_start_as_codes(op, parts, i, first))) return;
    const DType code = first.out().dtype();
    const Value scale = first.scale(), zero_point = first.zero_point();
    const Value before = op.operands()[parts.first + i];
    const Op made = graph_.insert(
        {&Quantize::record(), {before, scale, zero_point}, first.attributes(), before.name() + ".q", op.location()},
        nullptr, op);
    op.set_operand(static_cast<int>(parts.first + i), made.out(0));
    for (const auto& region : op.regions())
      graph_.set_type(region->arguments()[i], {code, region->arguments()[i].dims()});
    for (const Quantize& one : *quantizers) {
      one.out().replace_all_uses_with(one.x());
      graph_.erase(one);
    }
    if (is_state) set_output(*op.regions()[0], parts.conditions + i, *next);
    op.infer();
    if (is_state) dequantize(op.out(static_cast<int>(i)), scale, zero_point);
    changed_ = true;
  }

  /// A result that all regions dequantize alike.
  void dequantize_outside(Op op, const FlowParts& parts, size_t i) {
    std::optional<Dequantize> first;
    const size_t port = parts.conditions + i;
    for (const auto& region : op.regions()) {
      const auto one = region->outputs()[port].producer<Dequantize>();
      if (!one || !has_stored_numbers(*one)) return;
      if (!first) first = one;
      if (one->x().dtype() != first->x().dtype() || !have_same_numbers(*one, *first)) return;
    }
    const Value scale = first->scale(), zero_point = first->zero_point();
    for (const auto& region : op.regions())
      set_output(*region, port, region->outputs()[port].producer<Dequantize>()->x());
    op.infer();
    dequantize(op.out(static_cast<int>(i)), scale, zero_point);
    changed_ = true;
  }

  static void set_output(Block& region, size_t port, Value value) {
    std::vector<Value> outputs = region.outputs();
    outputs[port] = value;
    region.set_outputs(outputs, region.output_names());
  }

  /// Readers of a result that has become codes read its values instead.
  void dequantize(Value codes, Value scale, Value zero_point) {
    const auto uses = codes.uses();
    if (uses.empty()) return;
    Builder builder = builder_behind(graph_, codes);
    const Value values =
        builder.insert(Dequantize::record(), {codes, scale, zero_point}, {}, codes.name() + ".real").out(0);
    for (const auto& [user, operand] : uses) user.set_operand(operand, values);
  }

  Model& model_;
  Graph& graph_;
  bool changed_ = false;
};

}  // namespace

void coded_regions(Model& model) {
  CodedRegions regions(model);
  while (regions.run()) continue;
}

}  // namespace halfstep::passes
