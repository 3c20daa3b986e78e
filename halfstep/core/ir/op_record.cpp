#include "halfstep/core/ir/op_record.h"

namespace halfstep::ops {
namespace {

std::vector<std::string> strings_of(List<Text> texts) { return {texts.begin(), texts.end()}; }

Attribute attribute_of(const Literal& literal) {
  switch (literal.kind) {
    case Literal::boolean: return literal.number != 0;
    case Literal::integer: return literal.number;
    case Literal::real: return literal.value;
    case Literal::text: return std::string(literal.string);
    case Literal::integers: return std::vector<int64_t>(literal.numbers.begin(), literal.numbers.end());
    case Literal::floats: return std::vector<double>(literal.values.begin(), literal.values.end());
    case Literal::texts: break;
  }
  return strings_of(literal.strings);
}

void add_ports(List<PortRecord> records, std::vector<PortInfo>& ports,
               std::vector<bool (*)(const Attributes&)>& present) {
  for (const PortRecord& port : records) {
    ports.push_back({std::string(port.name), std::string(port.type), port.optional, port.variadic, port.state_of,
                     std::string(port.unless)});
    present.push_back(port.present);
  }
}

QuantInfo quant_of(const QuantRecord& quant) {
  return {.trait = quant.trait,
          .accumulates = quant.accumulates,
          .weight = quant.weight,
          .weight_axis = quant.weight_axis,
          .factor = quant.factor,
          .bias = quant.bias,
          .fill = quant.fill,
          .index = quant.index,
          .magnitude = quant.magnitude,
          .quantized = std::string(quant.quantized),
          .integer = std::string(quant.integer),
          .activation = std::string(quant.activation),
          .lookup = quant.lookup};
}

std::vector<std::pair<std::string, Attribute>> values_of(List<std::pair<Text, Literal>> records) {
  std::vector<std::pair<std::string, Attribute>> values;
  for (const auto& [name, literal] : records) values.emplace_back(name, attribute_of(literal));
  return values;
}

ForeignInfo foreign_of(const ForeignRecord& foreign) {
  return {.format = std::string(foreign.format),
          .op = std::string(foreign.op),
          .names = {foreign.names.begin(), foreign.names.end()},
          .inputs = {foreign.inputs.begin(), foreign.inputs.end()},
          .fixed = values_of(foreign.fixed),
          .defaults = values_of(foreign.defaults),
          .domain = std::string(foreign.domain),
          .since = foreign.since,
          .until = foreign.until};
}

}  // namespace

OpInfo info_of(const OpRecord& record) {
  OpInfo info;
  info.name = record.name;
  info.doc = record.doc;
  info.record = record.record;
  add_ports(record.inputs, info.inputs, info.input_present);
  add_ports(record.outputs, info.outputs, info.output_present);
  info.regions = strings_of(record.regions);
  info.flow = record.flow;
  for (const AttributeRecord& attribute : record.attributes)
    info.attributes.push_back({std::string(attribute.name), attribute_of(attribute.default_value), attribute.required,
                               strings_of(attribute.choices)});
  info.infer = record.infer;
  info.flops = record.flops;
  info.gradient = record.gradient;
  info.elementwise = record.elementwise;
  info.c_expression = record.c_expression;
  info.codes = record.codes;
  info.quant = quant_of(record.quant);
  for (const ForeignRecord& foreign : record.foreign) info.foreign.push_back(foreign_of(foreign));
  return info;
}

}  // namespace halfstep::ops
