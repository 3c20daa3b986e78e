// Inference functions: dtypes, extents, lets and rules, followed by the types of the outputs.
#include <algorithm>
#include <set>

#include "opgen/cpp.h"
#include "opgen/dims_cpp.h"
#include "opgen/emit.h"
#include "opgen/text.h"

namespace halfstep::opgen {
namespace {

std::string class_constant(const TypeClass& type_class) {
  std::string name = type_class.name;
  for (char& c : name) {
    if (c == ' ') c = '_';
  }
  return "k" + pascal_case(name);
}

class InferWriter {
 public:
  explicit InferWriter(const Record& record) : record_(record) {}

  std::string write() {
    text_.line("std::vector<Type> infer_{}(const OpSite& site) {{", record_.name);
    text_.line("  const Inference infer(site);");
    write_operands();
    write_attributes();
    write_dtypes();
    write_extents();
    for (const NamedExpr& let : record_.lets)
      text_.line("  const Dim {} = {};", cpp_name(let.name), dims_cpp(let.expr));
    for (const NamedExpr& rule : record_.rules) {
      text_.line("  infer.rule({}, {},", string_literal(rule.name), string_literal(rule.text));
      text_.line("             {},", dims_cpp(rule.expr));
      text_.line("             {{{}}});", join(facts_cpp(rule.expr), ", "));
    }
    write_computed_extents();
    write_result();
    text_.line("}}");
    return text_.str();
  }

 private:
  void write_operands() {
    for (size_t i = 0; i < record_.inputs.size(); ++i) {
      const Port& port = record_.inputs[i];
      if (port.variadic) {
        text_.line("  const std::vector<Operand> {} = infer.variadic();", cpp_name(port.name));
      } else {
        text_.line("  const Operand {} = infer.{}({});", cpp_name(port.name),
                   port.always_there() ? "required" : "optional", i);
      }
    }
  }

  /// Attributes read by expressions. A shape function gets its attributes from the site.
  std::set<std::string> used_names() const {
    std::set<std::string> used;
    const auto add = [&used](const Expr& expr) {
      walk(expr, [&used](const Expr& part) {
        if (part.is(Expr::Kind::name)) used.insert(part.text);
      });
    };
    for (const auto* ports : {&record_.inputs, &record_.outputs}) {
      for (const Port& port : *ports) {
        if (!port.dims) continue;
        for (const Expr& extent : port.dims->extents) add(extent);
      }
    }
    for (const NamedExpr& let : record_.lets) add(let.expr);
    for (const NamedExpr& rule : record_.rules) add(rule.expr);
    return used;
  }

  void write_attributes() {
    const std::set<std::string> used = used_names();
    for (const AttributeSpec& spec : record_.attributes) {
      if (!used.contains(spec.name)) continue;
      const std::string name = cpp_name(spec.name);
      if (std::holds_alternative<int64_t>(spec.value)) {
        text_.line("  const Dim {} = infer.integer({});", name, string_literal(spec.name));
      } else if (std::holds_alternative<std::vector<int64_t>>(spec.value)) {
        text_.line("  const std::vector<int64_t>& {} = infer.integers({});", name, string_literal(spec.name));
      } else {
        const std::string type = attribute_reference_cpp(spec.value);
        text_.line("  {}{} {} = get<{}>(site.attributes, {});", type.starts_with("const") ? "" : "const ", type, name,
                   attribute_type_cpp(spec.value), string_literal(spec.name));
      }
    }
  }

  /// Writes a statement for one port. For a variadic port it is in a loop over the values.
  void for_port(const Port& port, const std::string& before, const std::string& after) {
    if (port.variadic) {
      text_.line("  for (const Operand& each : {}) {}each{};", cpp_name(port.name), before, after);
    } else {
      text_.line("  {}{}{};", before, cpp_name(port.name), after);
    }
  }

  void write_dtypes() {
    std::set<std::string> bound;
    for (const Port& port : record_.inputs) {
      const TypeSpec& type = port.type;
      if (type.kind == TypeSpec::Kind::like) {
        for_port(port, "infer.expect_dtype(", ", " + cpp_name(type.name) + ")");
      } else if (type.kind == TypeSpec::Kind::classed) {
        for_port(port, "infer.expect_class(", ", classes::" + class_constant(type.type_class) + ")");
      } else if (bound.insert(type.name).second) {
        bind_variable(port);
      } else {
        for_port(port, "infer.expect_dtype(", ", " + type.name + ")");
      }
    }
  }

  /// Binds a type variable at its first use. A variable without another use is only a type class.
  void bind_variable(const Port& port) {
    const auto declared = record_.type_variables.find(port.type.name);
    const std::string constant =
        declared == record_.type_variables.end() ? "classes::kAny" : "classes::" + class_constant(declared->second);
    const auto uses = [&port](const std::vector<Port>& ports) {
      return std::count_if(ports.begin(), ports.end(), [&port](const Port& other) {
        return other.type.kind == TypeSpec::Kind::variable && other.type.name == port.type.name;
      });
    };
    const bool used_again = uses(record_.inputs) + uses(record_.outputs) > 1;
    if (used_again || port.variadic) {
      text_.line("  {}infer.bind_dtype({}, {});", used_again ? "const DType " + port.type.name + " = " : "",
                 cpp_name(port.name), constant);
    } else {
      text_.line("  infer.expect_class({}, {});", cpp_name(port.name), constant);
    }
  }

  void write_extents() {
    for (const std::string& name : record_.extents) text_.line("  Dim {} = Dim::unknown();", cpp_name(name));
    for (const Port& port : record_.inputs) {
      if (!port.dims) continue;
      if (port.dims->like) {
        for_port(port, "infer.expect_dims(", ", " + cpp_name(port.dims->name) + ")");
      } else if (!port.dims->function) {
        for_port(port, "infer.bind(",
                 ", {" + join(extents_cpp(*port.dims), ", ") + "}" + (port.dims->open ? ", true)" : ")"));
      }
    }
  }

  /// Shape functions rely on the rules, so these come before.
  void write_computed_extents() {
    for (const Port& port : record_.inputs) {
      if (port.dims && port.dims->function)
        for_port(
            port, "infer.expect_dims(",
            ", " + string_literal(port.dims->texts[0]) + ", " + shape_call_cpp(*port.dims->function, record_) + ")");
    }
  }

  static std::vector<std::string> extents_cpp(const DimsSpec& dims) {
    std::vector<std::string> extents;
    for (size_t i = 0; i < dims.extents.size(); ++i) {
      const std::string value = dims_cpp(dims.extents[i]);
      const bool literal = dims.extents[i].is(Expr::Kind::integer);
      extents.push_back("{" + string_literal(dims.texts[i]) + ", " + (literal ? "Dim(" + value + ")" : value) + "}");
    }
    return extents;
  }

  static std::string result_dtype(const TypeSpec& type) {
    switch (type.kind) {
      case TypeSpec::Kind::classed: return dtype_cpp(type.type_class.dtypes[0]);
      case TypeSpec::Kind::variable: return type.name;
      case TypeSpec::Kind::attribute: return "infer.named_dtype(" + string_literal(type.name) + ")";
      case TypeSpec::Kind::like: return "Inference::like(" + cpp_name(type.name) + ").dtype";
      case TypeSpec::Kind::first: break;
    }
    std::string text = result_dtype(type.choices.back());
    for (size_t i = type.choices.size() - 1; i-- > 0;) {
      const TypeSpec& choice = type.choices[i];
      text = choice.kind == TypeSpec::Kind::attribute
                 ? fmt::format("infer.named_dtype_or({}, {})", string_literal(choice.name), text)
                 : fmt::format("dtype_or({}, {})", cpp_name(choice.name), text);
    }
    return text;
  }

  std::string result_dims(const Port& port) const {
    if (port.dims->like) return "Inference::like(" + cpp_name(port.dims->name) + ").dims";
    if (port.dims->function) return shape_call_cpp(*port.dims->function, record_);
    std::vector<std::string> extents;
    for (const Expr& extent : port.dims->extents) extents.push_back(dims_cpp(extent));
    return "infer.dims(" + string_literal(port.name) + ", {" + join(extents, ", ") + "})";
  }

  void write_result() {
    std::vector<std::string> types;
    for (const Port& port : record_.outputs) {
      if (port.variadic) continue;  // the regions determine them
      const bool both = port.type.kind == TypeSpec::Kind::like && port.dims->like;
      types.push_back(both ? "Inference::like(" + cpp_name(port.type.name) + ")"
                           : "Type{" + result_dtype(port.type) + ", " + result_dims(port) + "}");
    }
    if (types.size() == 1) {
      text_.line("  return {{{}}};", types[0]);
    } else {
      text_.line("  return {{{}}};", join(types, ",\n          "));
    }
  }

  const Record& record_;
  Text text_;
};

}  // namespace

std::string infer_function(const Record& record) { return InferWriter(record).write(); }

std::string flops_function(const Record& record) {
  std::set<std::string> used;
  walk(record.flops->expr, [&used](const Expr& part) {
    if (part.is(Expr::Kind::name)) used.insert(part.text);
  });
  Text text;
  text.line("int64_t flops_{}([[maybe_unused]] const OpTypes& types) {{", record.name);
  for (const auto& [ports, from] : {std::pair(&record.inputs, "in"), std::pair(&record.outputs, "out")}) {
    for (size_t i = 0; i < ports->size(); ++i) {
      const std::string& name = (*ports)[i].name;
      if (used.contains(name))
        text.line("  const Operand {}{{{}, types.{}[{}]}};", cpp_name(name), string_literal(name), from, i);
    }
  }
  text.line("  return Dim({}).value();", dims_cpp(record.flops->expr));
  text.line("}}");
  return text.str();
}

std::string type_class_constants(const Records& records) {
  std::map<std::string, TypeClass> used;
  const auto use = [&used](const TypeClass& type_class) { used.emplace(class_constant(type_class), type_class); };
  for (const Record& record : records) {
    for (const Port& port : record.inputs) {
      if (port.type.kind == TypeSpec::Kind::classed) use(port.type.type_class);
      if (port.type.kind != TypeSpec::Kind::variable) continue;
      const auto declared = record.type_variables.find(port.type.name);
      use(declared != record.type_variables.end() ? declared->second : *find_type_class("any"));
    }
  }
  Text text;
  for (const auto& [constant, type_class] : used) {
    std::vector<std::string> dtypes;
    for (const DType dtype : type_class.dtypes) dtypes.push_back(dtype_cpp(dtype));
    text.line("inline constexpr TypeClass {}{{{}, dtype_set({{{}}})}};", constant, string_literal(type_class.name),
              join(dtypes, ", "));
  }
  return text.str();
}

}  // namespace halfstep::opgen
