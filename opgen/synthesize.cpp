#include "opgen/synthesize.h"

#include <set>

#include "opgen/check.h"

namespace halfstep::opgen {
namespace {

/// Checks that all ports have one shape and dtype: the first input is free, and all other ports are like it.
void check_one_shape(const Record& record, const Source& source) {
  const auto is_like_first = [&record](const Port& port) {
    return port.type.kind == TypeSpec::Kind::like && port.type.name == record.inputs[0].name && port.dims &&
           port.dims->like;
  };
  for (const auto* ports : {&record.inputs, &record.outputs}) {
    for (const Port& port : *ports) {
      if (&port != &record.inputs[0] && !is_like_first(port))
        fail_at(source,
                "a gradient in scalars needs ports of one shape, and {} is not 'like: {}'; call operators instead",
                port.name, record.inputs[0].name);
    }
  }
}

/// Returns the names that the expression reads: inputs in order, outputs, then the gradient of the output.
std::vector<std::string> referenced(const Expr& expr, const Record& record) {
  std::set<std::string> used;
  walk(expr, [&used](const Expr& part) {
    if (part.is(Expr::Kind::name)) used.insert(part.text);
  });
  std::vector<std::string> names;
  for (const Port& port : record.inputs) {
    if (used.contains(port.name)) names.push_back(port.name);
  }
  const std::string& out = record.outputs[0].name;
  if (used.contains(out)) names.push_back(out);
  names.push_back(out + "_grad");
  return names;
}

std::vector<Port> ports_of(const std::vector<std::string>& names, const Record& record, const Source& source) {
  std::vector<Port> ports;
  for (const std::string& name : names) {
    Port port;
    port.source = source;
    port.name = name;
    if (ports.empty()) {
      port.type = record.inputs[0].type;
    } else {
      port.type = {TypeSpec::Kind::like, {}, names[0]};
      port.dims = DimsSpec{source, true, names[0], {}, {}, {}, false};
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

void add_attributes(Record& made, const Expr& expr, const Record& record) {
  walk(expr, [&](const Expr& part) {
    const AttributeSpec* spec = part.is(Expr::Kind::name) ? record.attribute(part.text) : nullptr;
    if (spec != nullptr && made.attribute(spec->name) == nullptr) made.attributes.push_back(*spec);
  });
}

/// Returns the call NAME(x=x, out_grad=out_grad, alpha=alpha).
Expr call_of(const Record& made) {
  Expr call;
  call.kind = Expr::Kind::call;
  call.text = made.name;
  const auto pass = [&call](const std::string& name) {
    Expr value;
    value.text = name;
    call.args.push_back(value);
    call.keywords.push_back(name);
  };
  for (const Port& port : made.inputs) pass(port.name);
  for (const AttributeSpec& spec : made.attributes) pass(spec.name);
  return call;
}

/// Derives test cases from those of the operator: every port has the common shape, and inputs of both keep their
/// values.
Test test_of(const Record& made, const Record& record) {
  Test test = *record.test;
  test.rejects.clear();
  for (Case& one : test.cases) {
    const auto type = one.inputs.at(record.inputs[0].name);
    one.inputs.clear();
    for (const Port& port : made.inputs) one.inputs[port.name] = type;
    std::erase_if(one.attributes, [&made](const auto& item) { return made.attribute(item.first) == nullptr; });
  }
  for (auto* numbers : {&test.domain, &test.special, &test.values})
    std::erase_if(*numbers, [&made](const auto& item) { return made.input(item.first) == nullptr; });
  return test;
}

}  // namespace

Expr synthesize_gradient(Records& records, const Record& record, const Port& port, const NamedExpr& gradient) {
  check_one_shape(record, gradient.source);
  const std::vector<std::string> names = referenced(gradient.expr, record);
  Record made;
  made.source = gradient.source;
  made.name = record.name + "_grad_" + port.name;
  made.file_stem = record.file_stem;
  made.doc = fmt::format("Gradient of {} with respect to {}: {}.", record.name, port.name, gradient.text);
  made.type_variables = record.type_variables;
  made.inputs = ports_of(names, record, gradient.source);
  add_attributes(made, gradient.expr, record);
  Port result;
  result.source = gradient.source;
  result.name = port.name + "_grad";
  result.type = {TypeSpec::Kind::like, {}, names[0]};
  result.dims = DimsSpec{gradient.source, true, names[0], {}, {}, {}, false};
  made.outputs.push_back(result);
  made.compute = gradient;
  made.source.path = made.name;

  check_record(made);
  if (record.test) made.test = test_of(made, record);
  records.push_back(std::move(made));
  return call_of(records.back());
}

}  // namespace halfstep::opgen
