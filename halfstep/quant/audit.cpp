#include <fmt/format.h>

#include "halfstep/passes/traits.h"
#include "halfstep/quant/prepare.h"
#include "halfstep/quant/quantizer.h"

namespace halfstep::quant {
namespace {

std::string describe(const ops::FakeQuantize& quantizer) {
  return fmt::format("{} bits{}, {}", bits_of(quantizer), quantizer.axis() >= 0 ? " per channel" : "",
                     is_learned(quantizer) ? "learned" : "observed");
}

std::string describe_input(Value value) {
  const Op op = passes::unmoved(value).producer();
  if (!op) return "float: nothing quantizes the network's input";
  if (!passes::has_trait(op, Trait::quantizer))
    return fmt::format("float: it comes from {} '{}'", op.info().name, op.name());
  return describe(ops::FakeQuantize(op.node()));
}

std::string describe_output(Value value) {
  for (const auto& [user, operand] : value.uses()) {
    if (passes::has_trait(user, Trait::quantizer)) {
      const ops::FakeQuantize quantizer(user.node());
      const std::string form = quantizer.requantize() == "fixed_point" ? "" : ", " + quantizer.requantize();
      return describe(quantizer) + form;
    }
    if (passes::has_trait(user, Trait::fuses_into_producer)) return describe_output(user.out(0));
  }
  return "float: no quantizer reads it";
}

bool is_float(const std::string& text) { return text.starts_with("float"); }

}  // namespace

std::vector<AuditRow> audit(const Model& model) {
  std::vector<AuditRow> rows;
  for (Op op : model.graph.ops()) {
    const QuantInfo& quant = op.info().quant;
    if (quant.trait != Trait::weighted) continue;
    const auto weight = op.in(quant.weight).producer<ops::FakeQuantize>();
    AuditRow row{op.name(),
                 op.info().name,
                 weight ? describe(*weight) : "float: the weight has no quantizer",
                 describe_input(op.in(0)),
                 describe_output(op.out(0)),
                 false};
    row.fully_quantized = !is_float(row.weight) && !is_float(row.input) && !is_float(row.output);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace halfstep::quant
