#include "opgen/check.h"

#include <algorithm>
#include <map>
#include <set>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "opgen/presence.h"
#include "opgen/scalar.h"
#include "opgen/typing.h"

namespace halfstep::opgen {
namespace {

std::vector<std::string> port_names(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.name);
  return names;
}

/// Checks names of ports and attributes. They become C++ members of the views and must not collide with those of Op.
void check_names(const Record& record) {
  static const std::set<std::string> kReserved = {
      "name",    "info",        "location",       "attributes", "where", "operands", "variadic", "port_of",
      "results", "set_operand", "set_attributes", "regions",    "node",  "record",   "true",     "false"};
  std::set<std::string> seen;
  const auto take = [&seen](const std::string& name, const Source& source) {
    if (kReserved.contains(name)) fail_at(source, "the name '{}' is taken by the generated class", name);
    if (!seen.insert(name).second) fail_at(source, "the name '{}' is used twice", name);
  };
  for (const Port& port : record.inputs) take(port.name, port.source);
  for (const Port& port : record.outputs) take(port.name, port.source);
  for (const AttributeSpec& spec : record.attributes) {
    if (spec.name == "in" || spec.name == "out")
      fail_at(spec.source, "the name '{}' is taken by the generated class", spec.name);
    take(spec.name, spec.source);
  }
}

void check_presence(const Port& port, const Record& record) {
  if (port.condition) check_condition(*port.condition, record, at_key(port.source, "unless"));
}

/// Returns the port that `port` refers to with `like`: an earlier input, or any input for an output.
const Port& like_port(const Port& port, const std::string& name, const Record& record) {
  const Port* found = record.input(name);
  if (found == nullptr)
    fail_at(at_key(port.source, "like"), "there is no input '{}'{}", name,
            did_you_mean(name, port_names(record.inputs)));
  const bool is_input = record.input(port.name) == &port;
  if (is_input && found >= &port)
    fail_at(at_key(port.source, "like"), "the input {} must come before {}", name, port.name);
  if (found->variadic) fail_at(at_key(port.source, "like"), "the input {} is variadic", name);
  if (!found->always_there() && (found->unless.empty() || found->unless != port.unless))
    fail_at(at_key(port.source, "like"), "the input {} may be absent although {} is present", name, port.name);
  return *found;
}

void check_like(const Port& port, const Record& record) {
  if (port.type.kind == TypeSpec::Kind::like) like_port(port, port.type.name, record);
  if (port.dims && port.dims->like) like_port(port, port.dims->name, record);
}

/// Checks that every choice except the last may be absent, and that the last one never is.
void check_first_type(const Port& port, const Record& record) {
  const auto& choices = port.type.choices;
  for (const TypeSpec& choice : choices) {
    const Port* like = choice.kind == TypeSpec::Kind::like ? record.input(choice.name) : nullptr;
    if (like != nullptr && like->variadic) fail_at(port.source, "the input {} is variadic", like->name);
    const bool may_be_silent = choice.kind == TypeSpec::Kind::attribute || (like != nullptr && !like->always_there());
    if (may_be_silent == (&choice == &choices.back()))
      fail_at(port.source, "the last type of a list, and no other, must determine a dtype in every case");
  }
}

void check_ports(const Record& record) {
  for (const Port& port : record.inputs) {
    if (port.variadic && &port != &record.inputs.back()) fail_at(port.source, "a variadic input must be last");
    if (port.variadic && !port.always_there()) fail_at(port.source, "a variadic input can be empty, but not optional");
    if (port.optional && !port.unless.empty()) fail_at(port.source, "'optional' and 'unless' exclude each other");
    if (!port.state_of.empty())
      fail_at(at_key(port.source, "state_of"), "only an output is the next value of an input");
    check_presence(port, record);
    check_like(port, record);
  }
  if (record.flow.empty() != record.regions.empty()) fail_at(record.source, "'regions' and 'flow' belong together");
  for (const Port& port : record.outputs) {
    if (port.optional) fail_at(port.source, "an output is not optional");
    if (port.variadic != !record.flow.empty() || (port.variadic && record.outputs.size() != 1))
      fail_at(port.source, "only an operator with 'flow' has a variadic output, and it must have one");
    if (port.variadic) continue;
    if (!port.dims) fail_at(port.source, "the output has no dims");
    if (port.dims->open) fail_at(port.dims->source, "'...' leaves extents of an output undefined");
    check_presence(port, record);
    check_like(port, record);
    if (port.type.kind == TypeSpec::Kind::first) check_first_type(port, record);
    if (!port.state_of.empty() && record.input(port.state_of) == nullptr)
      fail_at(at_key(port.source, "state_of"), "there is no input '{}'{}", port.state_of,
              did_you_mean(port.state_of, port_names(record.inputs)));
  }
  if (record.outputs.empty()) fail_at(record.source, "there is no output");
}

/// Checks that an output's type variable is bound whenever the output is present.
void check_type_variables(const Record& record) {
  std::map<std::string, const Port*> bound;
  for (const Port& port : record.inputs) {
    if (port.type.kind != TypeSpec::Kind::variable) continue;
    const Port*& binder = bound[port.type.name];
    if (binder == nullptr || port.always_there()) binder = &port;
  }
  for (const auto& [variable, type_class] : record.type_variables) {
    if (!bound.contains(variable))
      fail_at(at_key(record.source, "types"), "the type variable {} is bound by no input", variable);
  }
  for (const Port& port : record.outputs) {
    if (port.type.kind != TypeSpec::Kind::variable) continue;
    const auto found = bound.find(port.type.name);
    if (found == bound.end()) fail_at(port.source, "the type variable {} is bound by no input", port.type.name);
    const Port& binder = *found->second;
    if (!binder.always_there() && (binder.unless.empty() || binder.unless != port.unless))
      fail_at(port.source, "the type variable {} is bound only by the input {}, which may be absent", port.type.name,
              binder.name);
  }
}

class ExtentChecker {
 public:
  explicit ExtentChecker(Record& record) : record_(record), scope_(record) {}

  void check() {
    for (Port& port : record_.inputs) check_input(port);
    for (Port& port : record_.inputs) {
      if (port.dims && port.dims->function) scope_.check_shape_function(*port.dims->function, port.dims->source);
    }
    for (NamedExpr& let : record_.lets) check_let(let);
    for (Port& port : record_.outputs) check_output(port);
    for (NamedExpr& rule : record_.rules) scope_.check_as(rule.expr, ExprType::boolean, rule.source);
  }

 private:
  /// Binds new names in order. All other names must already be known.
  void check_input(Port& port) {
    if (!port.dims) return;
    for (Expr& extent : port.dims->extents) {
      if (extent.is(Expr::Kind::name) && !scope_.contains(extent.text)) {
        record_.extents.push_back(extent.text);
        scope_.add_extent(extent.text);
        if (!port.always_there()) maybe_[extent.text] = port.unless;
      } else if (extent.is(Expr::Kind::name) && port.always_there()) {
        maybe_.erase(extent.text);
      }
      scope_.check_as(extent, ExprType::integer, port.dims->source);
    }
  }

  void check_let(NamedExpr& let) {
    if (scope_.contains(let.name) || record_.output(let.name) != nullptr)
      fail_at(let.source, "the name '{}' is used twice", let.name);
    scope_.check_as(let.expr, ExprType::integer, let.source);
    if (const auto* presence = uncertain(let.expr)) maybe_[let.name] = *presence;
    scope_.add_extent(let.name);
  }

  void check_output(Port& port) {
    if (!port.dims) return;  // the regions determine the dims
    if (port.dims->function) scope_.check_shape_function(*port.dims->function, port.dims->source);
    for (Expr& extent : port.dims->extents) {
      scope_.check_as(extent, ExprType::integer, port.dims->source);
      const auto* presence = uncertain(extent);
      if (presence != nullptr && (presence->empty() || *presence != port.unless))
        fail_at(port.dims->source, "'{}' is known only by an input that may be absent", to_text(extent));
    }
  }

  /// Returns the `unless` of an input that the expression needs and that may be absent ("" for an optional one).
  /// Returns null if there is none.
  const std::string* uncertain(const Expr& expr) const {
    const std::string* presence = nullptr;
    walk(expr, [&](const Expr& part) {
      if (!part.is(Expr::Kind::name)) return;
      if (const auto found = maybe_.find(part.text); found != maybe_.end()) presence = &found->second;
      const Port* port = record_.input(part.text);
      if (port != nullptr && !port->always_there()) presence = &port->unless;
    });
    return presence;
  }

  Record& record_;
  Scope scope_;
  std::map<std::string, std::string> maybe_;  ///< extents that only such inputs bind, with the `unless` of the input
};

void check_compute(Record& record) {
  if (!record.compute) return;
  NamedExpr& compute = *record.compute;
  std::set<std::string> values;
  for (const Port& port : record.inputs) {
    if (port.variadic || !port.always_there())
      fail_at(port.source, "an input of a pointwise operator is neither variadic, optional nor conditional");
    values.insert(port.name);
  }
  if (record.outputs.size() != 1) fail_at(compute.source, "a pointwise operator has one output");
  check_scalar(compute.expr, values, record, compute.source);
}

/// `flops` may use only the types of operands and results, because nothing else is known when it is evaluated.
void check_flops(Record& record) {
  if (!record.flops) return;
  NamedExpr& flops = *record.flops;
  Scope scope(record);
  scope.add_outputs();
  scope.check_as(flops.expr, ExprType::integer, flops.source);
  walk(flops.expr, [&flops](const Expr& part) {
    if (part.is(Expr::Kind::name) && part.type != ExprType::port)
      fail_at(flops.source, "'{}' is not a port, as flops needs", part.text);
  });
}

void check_quant(const Record& record) {
  if (!record.quant) return;
  const Quant& quant = *record.quant;
  if ((quant.trait == "accumulates") == quant.accumulates.empty())
    fail_at(quant.source, "trait {} {} 'accumulates', which names the accumulated terms", quant.trait,
            quant.accumulates.empty() ? "needs" : "has no");
  for (const std::string& port : {quant.weight, quant.factor, quant.bias, quant.fill, quant.index, quant.magnitude}) {
    if (!port.empty() && record.input(port) == nullptr)
      fail_at(quant.source, "there is no input '{}'{}", port, did_you_mean(port, port_names(record.inputs)));
  }
}

void check_foreign(const Record& record) {
  std::vector<std::string> known = record.attribute_names();
  for (const std::string& name : port_names(record.inputs)) known.push_back(name);
  for (const std::string& name : port_names(record.outputs)) known.push_back(name);
  for (const Foreign& foreign : record.foreign) {
    const auto check = [&](const auto& list) {
      for (const auto& [ours, theirs] : list) {
        if (std::find(known.begin(), known.end(), ours) == known.end())
          fail_at(foreign.source, "'{}' is neither a port nor an attribute{}", ours, did_you_mean(ours, known));
      }
    };
    check(foreign.names);
    check(foreign.inputs);
  }
}

}  // namespace

void check_record(Record& record) {
  check_names(record);
  check_ports(record);
  check_type_variables(record);
  ExtentChecker(record).check();
  check_compute(record);
  check_flops(record);
  check_quant(record);
  check_foreign(record);
}

void check_rejects(const Record& record) {
  for (const NamedExpr& rule : record.rules) {
    const auto is_of_rule = [&rule](const auto& reject) { return reject.first == rule.name; };
    if (!record.test || std::none_of(record.test->rejects.begin(), record.test->rejects.end(), is_of_rule))
      fail_at(rule.source, "the rule has no case under test.reject");
  }
}

}  // namespace halfstep::opgen
