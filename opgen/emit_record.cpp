// A record as constants of halfstep/core/ir/op_record.h. Its lists become arrays defined before it.
#include <array>
#include <type_traits>

#include "opgen/cpp.h"
#include "opgen/emit.h"
#include "opgen/presence.h"
#include "opgen/scalar.h"
#include "opgen/text.h"

namespace halfstep::opgen {
namespace {

/// Returns the allowed element types of a port: "float", "u8 or i8".
std::string port_class(const Port& port, const Record& record) {
  if (port.type.kind == TypeSpec::Kind::like) return port_class(*record.input(port.type.name), record);
  if (port.type.kind != TypeSpec::Kind::variable) return type_text(port.type);
  const auto declared = record.type_variables.find(port.type.name);
  return declared == record.type_variables.end() ? "any" : declared->second.name;
}

class RecordWriter {
 public:
  explicit RecordWriter(const Record& record) : record_(record) {}

  std::string write() {
    static constexpr const char* kRules[] = {"none", "derivative", "straight_through"};
    field("name", string_literal(record_.name));
    field("doc", string_literal(record_.doc));
    field("record", string_literal(record_place(record_)));
    field("inputs", ports(record_.inputs));
    field("outputs", ports(record_.outputs));
    field("regions", texts(record_.regions));
    if (!record_.flow.empty()) field("flow", "Flow::" + record_.flow);
    field("attributes", attributes());
    field("infer", "infer_" + record_.name);
    if (record_.flops) field("flops", "flops_" + record_.name);
    if (record_.gradient.rule != Gradient::Rule::none)
      field("gradient", fmt::format("GradientKind::{}", kRules[static_cast<size_t>(record_.gradient.rule)]));
    if (record_.is_elementwise()) field("elementwise", "true");
    if (record_.compute) field("c_expression", string_literal(scalar_c(record_.compute->expr, record_)));
    if (record_.has_codes()) field("codes", "true");
    if (record_.quant) field("quant", quant(*record_.quant));
    field("foreign", foreign());
    text_.line("constinit const OpRecord records::{} = {{\n    {}}};", cpp_name(record_.name),
               join(fields_, ",\n    "));
    return text_.str();
  }

 private:
  void field(std::string_view name, const std::string& value) {
    if (!value.empty()) fields_.push_back(fmt::format(".{} = {}", name, value));
  }

  /// Defines an array of the items and returns its name, or "" if there are none.
  std::string list(std::string_view type, const std::vector<std::string>& items) {
    if (items.empty()) return "";
    const std::string name = fmt::format("k{}List{}", pascal_case(record_.name), ++lists_);
    const std::string broken = type.ends_with("Record") ? "\n    " : "";
    text_.line("constexpr {} {}[] = {{{}{}}};", type, name, broken, join(items, broken.empty() ? ", " : ",\n    "));
    return name;
  }

  std::string texts(const std::vector<std::string>& values) {
    std::vector<std::string> items;
    for (const std::string& value : values) items.push_back(string_literal(value));
    return list("Text", items);
  }

  std::string literal(const Attribute& value) {
    static constexpr std::array<std::pair<const char*, const char*>, std::variant_size_v<Attribute>> kKinds = {
        {{"boolean", "number"},
         {"integer", "number"},
         {"real", "value"},
         {"text", "string"},
         {"integers", "numbers"},
         {"floats", "values"},
         {"texts", "strings"}}};
    const auto& [kind, field] = kKinds[value.index()];
    const std::string content = std::visit([this](const auto& held) { return content_of(held); }, value);
    return fmt::format("{{.kind = Literal::{}{}}}", kind,
                       content.empty() ? "" : fmt::format(", .{} = {}", field, content));
  }
  template <class T>
  std::string content_of(const T& value) {
    return initializer_cpp(value);
  }
  template <class T>
  std::string content_of(const std::vector<T>& values) {
    std::vector<std::string> items;
    for (const T& value : values) items.push_back(initializer_cpp(value));
    return list(std::is_same_v<T, std::string> ? "Text" : attribute_type_cpp(T()), items);
  }

  std::string ports(const std::vector<Port>& ports) {
    std::vector<std::string> items;
    for (const Port& port : ports) {
      std::string item =
          ".name = " + string_literal(port.name) + ", .type = " + string_literal(port_class(port, record_));
      if (port.optional) item += ", .optional = true";
      if (port.variadic) item += ", .variadic = true";
      if (!port.state_of.empty())
        item += fmt::format(", .state_of = {}", record_.input(port.state_of) - record_.inputs.data());
      if (port.condition)
        item += fmt::format(", .unless = {}, .present = presence::unless_{}", string_literal(port.unless),
                            condition_name(*port.condition));
      items.push_back("{" + item + "}");
    }
    return list("PortRecord", items);
  }

  std::string attributes() {
    std::vector<std::string> items;
    for (const AttributeSpec& spec : record_.attributes) {
      const std::string choices = texts(spec.choices);
      items.push_back(fmt::format("{{.name = {}, .default_value = {}{}{}}}", string_literal(spec.name),
                                  literal(spec.value), spec.required ? ", .required = true" : "",
                                  choices.empty() ? "" : ", .choices = " + choices));
    }
    return list("AttributeRecord", items);
  }

  std::string quant(const Quant& quant) const {
    std::vector<std::string> items = {".trait = Trait::" + quant.trait};
    const auto assign = [&items](const char* field, const std::string& value) {
      items.push_back(fmt::format(".{} = {}", field, value));
    };
    const auto port = [&](const char* field, const std::string& name) {
      if (!name.empty()) assign(field, std::to_string(record_.input(name) - record_.inputs.data()));
    };
    const auto text = [&](const char* field, const std::string& value) {
      if (!value.empty()) assign(field, string_literal(value));
    };
    if (!quant.accumulates.empty()) assign("accumulates", "Accumulation::" + quant.accumulates);
    port("weight", quant.weight);
    if (!quant.weight.empty()) assign("weight_axis", std::to_string(quant.axis));
    port("factor", quant.factor);
    port("bias", quant.bias);
    port("fill", quant.fill);
    port("index", quant.index);
    port("magnitude", quant.magnitude);
    text("quantized", quant.quantized);
    text("integer", quant.integer);
    text("activation", quant.activation);
    if (quant.lookup) assign("lookup", "true");
    return "{" + join(items, ", ") + "}";
  }

  /// Defines an array of pairs of our name and a value.
  template <class Pairs, class Value>
  std::string pairs(const char* type, const Pairs& pairs, const Value& value) {
    std::vector<std::string> items;
    for (const auto& [ours, other] : pairs) items.push_back("{" + string_literal(ours) + ", " + value(other) + "}");
    return list(fmt::format("std::pair<Text, {}>", type), items);
  }

  std::string foreign() {
    std::vector<std::string> items;
    for (const Foreign& foreign : record_.foreign) {
      std::string item =
          fmt::format(".format = {}, .op = {}", string_literal(foreign.format), string_literal(foreign.op));
      const auto add = [&item](const char* field, const std::string& value) {
        if (!value.empty()) item += fmt::format(", .{} = {}", field, value);
      };
      const auto as_literal = [this](const Attribute& value) { return literal(value); };
      add("names", pairs("Text", foreign.names, [](const std::string& theirs) { return string_literal(theirs); }));
      add("inputs", pairs("int", foreign.inputs, [](auto position) { return std::to_string(position); }));
      add("fixed", pairs("Literal", foreign.fixed, as_literal));
      add("defaults", pairs("Literal", foreign.defaults, as_literal));
      add("domain", foreign.domain.empty() ? "" : string_literal(foreign.domain));
      add("since", foreign.since == 1 ? "" : std::to_string(foreign.since));
      add("until", foreign.until ? std::to_string(*foreign.until) : "");
      items.push_back("{" + item + "}");
    }
    return list("ForeignRecord", items);
  }

  const Record& record_;
  Text text_;
  std::vector<std::string> fields_;
  int lists_ = 0;
};

}  // namespace

std::string operator_record(const Record& record) { return RecordWriter(record).write(); }

}  // namespace halfstep::opgen
