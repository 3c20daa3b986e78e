#include "opgen/load.h"

#include <algorithm>
#include <filesystem>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "opgen/attribute_value.h"

namespace halfstep::opgen {
namespace {

std::vector<std::string> load_texts(const Yaml& yaml) {
  std::vector<std::string> texts;
  for (const Yaml& element : yaml.elements()) texts.push_back(element.text());
  return texts;
}

/// Removes the line break at the end of a block scalar.
std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

TypeClass load_type_class(const Yaml& yaml) {
  if (yaml.is_list()) {
    TypeClass all;
    for (const Yaml& element : yaml.elements()) {
      const TypeClass one = load_type_class(element);
      all.name += (all.name.empty() ? "" : " or ") + one.name;
      all.dtypes.insert(all.dtypes.end(), one.dtypes.begin(), one.dtypes.end());
    }
    return all;
  }
  const auto found = find_type_class(yaml.text());
  if (!found) {
    std::vector<std::string> known = {"float", "int",         "whole", "signed",  "number", "plain",
                                      "index", "small_float", "codes", "weights", "any"};
    for (const DType dtype : all_dtypes()) known.emplace_back(name(dtype));
    fail_at(yaml.source(), "unknown type '{}'{}", yaml.text(), did_you_mean(yaml.text(), known));
  }
  return *found;
}

bool is_type_variable(const Yaml& yaml) {
  return yaml.is_scalar() && !yaml.text().empty() && yaml.text()[0] >= 'A' && yaml.text()[0] <= 'Z';
}

TypeSpec load_type(const Yaml& yaml, const Record& record, bool is_output);

/// The type of an output is that of the first present choice: a string attribute that may be empty, an optional input,
/// and finally a choice that always has a dtype.
TypeSpec load_first_type(const Yaml& yaml, const Record& record) {
  TypeSpec first{TypeSpec::Kind::first, {}, {}};
  for (const Yaml& element : yaml.elements()) {
    const bool is_input = element.is_scalar() && record.input(element.text()) != nullptr;
    first.choices.push_back(is_input ? TypeSpec{TypeSpec::Kind::like, {}, element.text()}
                                     : load_type(element, record, true));
  }
  return first;
}

TypeSpec load_type(const Yaml& yaml, const Record& record, bool is_output) {
  if (is_output && yaml.is_list()) return load_first_type(yaml, record);
  if (is_type_variable(yaml)) return {TypeSpec::Kind::variable, {}, yaml.text()};
  if (is_output && yaml.is_scalar()) {
    if (const AttributeSpec* attribute = record.attribute(yaml.text())) {
      if (!std::holds_alternative<std::string>(attribute->value))
        fail_at(yaml.source(), "the attribute {} is not a string, so it cannot name a dtype", attribute->name);
      return {TypeSpec::Kind::attribute, {}, yaml.text()};
    }
  }
  const TypeClass type_class = load_type_class(yaml);
  if (is_output && type_class.dtypes.size() != 1)
    fail_at(yaml.source(), "'{}' is not one dtype, as an output needs", type_class.name);
  return {TypeSpec::Kind::classed, type_class, {}};
}

DimsSpec load_dims(const Yaml& yaml) {
  DimsSpec dims;
  dims.source = yaml.source();
  if (yaml.is_scalar()) {
    dims.function = parse_expr(yaml.text(), yaml.source());
    dims.texts = {yaml.text()};
    if (!dims.function->is(Expr::Kind::call))
      fail_at(yaml.source(), "found '{}', expected a list of extents or a call of a shape function", yaml.text());
    return dims;
  }
  for (const Yaml& element : yaml.elements()) {
    if (dims.open) fail_at(element.source(), "'...' is not the last entry");
    if (element.text() == "...") {
      dims.open = true;
      continue;
    }
    dims.extents.push_back(parse_expr(element.text(), element.source()));
    dims.texts.push_back(element.text());
  }
  return dims;
}

Port load_port(std::string name, const Yaml& yaml, const Record& record, bool is_output) {
  Port port;
  port.source = yaml.source();
  if (name.ends_with("...")) {
    port.variadic = true;
    name.resize(name.size() - 3);
  }
  port.name = std::move(name);
  if (is_output && port.variadic) {
    if (!yaml.is_scalar() || yaml.text() != "regions")
      fail_at(yaml.source(), "a variadic output takes its types from regions, so its type must be 'regions'");
    port.type = {TypeSpec::Kind::classed, *find_type_class("any"), {}};
    return port;
  }
  if (!yaml.is_map()) {
    port.type = load_type(yaml, record, is_output);
    return port;
  }
  if (!yaml.has("type") && !yaml.has("like")) fail_at(yaml.source(), "neither 'type' nor 'like' is given");
  if (yaml.has("type")) port.type = load_type(yaml.at("type"), record, is_output);
  if (yaml.has("dims")) port.dims = load_dims(yaml.at("dims"));
  if (yaml.has("like")) {
    const Yaml like = yaml.at("like");
    if (port.dims && yaml.has("type")) fail_at(like.source(), "'like' cannot be combined with both 'type' and 'dims'");
    if (!yaml.has("type")) port.type = {TypeSpec::Kind::like, {}, like.text()};
    if (!port.dims) port.dims = {like.source(), true, like.text(), {}, {}, {}, false};
  }
  if (yaml.has("optional")) port.optional = to_bool(yaml.at("optional"));
  if (yaml.has("unless")) {
    port.unless = yaml.at("unless").text();
    port.condition = parse_expr(port.unless, yaml.at("unless").source());
  }
  if (yaml.has("state_of")) port.state_of = yaml.at("state_of").text();
  return port;
}

void check_choices(const AttributeSpec& spec, const Yaml& yaml) {
  if (spec.choices.empty()) return;
  const auto* text = std::get_if<std::string>(&spec.value);
  if (text == nullptr) fail_at(yaml.source(), "only a string has choices");
  if (!spec.required && std::find(spec.choices.begin(), spec.choices.end(), *text) == spec.choices.end())
    fail_at(yaml.at("default").source(), "found '{}', expected one of {}{}", *text, fmt::join(spec.choices, ", "),
            did_you_mean(*text, spec.choices));
}

AttributeSpec load_attribute(const std::string& name, const Yaml& yaml) {
  AttributeSpec spec;
  spec.source = yaml.source();
  spec.name = name;
  if (!yaml.is_map()) {
    spec.value = infer_value(yaml);
    return spec;
  }
  if (yaml.has("doc")) spec.doc = yaml.at("doc").text();
  if (yaml.has("choices")) spec.choices = load_texts(yaml.at("choices"));
  if (yaml.has("type")) {
    const Yaml type = yaml.at("type");
    const auto empty = empty_value(type.text());
    if (!empty)
      fail_at(type.source(), "found '{}', expected int, float, bool, string, ints, floats or strings", type.text());
    spec.value = *empty;
  }
  spec.required = !yaml.has("default");
  if (!spec.required) {
    spec.value = yaml.has("type") ? value_like(yaml.at("default"), spec.value) : infer_value(yaml.at("default"));
  } else if (!yaml.has("type")) {
    fail_at(yaml.source(), "neither 'type' nor 'default' is given");
  }
  check_choices(spec, yaml);
  return spec;
}

std::vector<NamedExpr> load_expressions(const Yaml& yaml) {
  std::vector<NamedExpr> list;
  for (const auto& [name, value] : yaml.items()) {
    list.push_back({value.source(), name, trimmed(value.text()), parse_expr(value.text(), value.source())});
  }
  return list;
}

Quant load_quant(const Yaml& yaml) {
  const auto text = [&yaml](const char* key) { return yaml.has(key) ? yaml.at(key).text() : std::string(); };
  Quant quant{yaml.source(),
              text("trait"),
              text("accumulates"),
              text("weight"),
              text("factor"),
              text("bias"),
              text("fill"),
              text("index"),
              text("magnitude"),
              text("quantized"),
              text("integer"),
              text("activation"),
              0,
              false};
  if (yaml.has("axis")) quant.axis = to_int(yaml.at("axis"));
  if (yaml.has("lookup")) quant.lookup = to_bool(yaml.at("lookup"));
  return quant;
}

/// Reads the value after "=", with the type of the attribute.
Attribute foreign_value(const std::string& text, const std::string& ours, const Yaml& yaml, const Record& record) {
  const AttributeSpec* attribute = record.attribute(ours);
  if (attribute == nullptr) fail_at(yaml.source(), "'{}' is not an attribute with a value", ours);
  return value_like(Yaml(YAML::Load(text.empty() ? "''" : text), yaml.source()), attribute->value);
}

/// Formats: `OURS: THEIRS` and `OURS: input.N`, both with an optional `=VALUE` for an absent one, and `OURS: =VALUE`
/// for a fixed value.
void load_foreign_name(Foreign& foreign, const std::string& ours, const Yaml& yaml, const Record& record) {
  static constexpr std::string_view kInput = "input.";
  const std::string& text = yaml.text();
  const size_t equals = text.find('=');
  const std::string theirs = text.substr(0, equals);
  if (equals != std::string::npos) {
    auto& values = theirs.empty() ? foreign.fixed : foreign.defaults;
    values.emplace_back(ours, foreign_value(text.substr(equals + 1), ours, yaml, record));
  }
  if (theirs.starts_with(kInput)) {
    foreign.inputs.emplace_back(ours, to_int(Yaml(YAML::Node(theirs.substr(kInput.size())), yaml.source())));
  } else if (!theirs.empty()) {
    foreign.names.emplace_back(ours, theirs);
  }
}

Foreign load_foreign_entry(const std::string& format, const Yaml& entry, const Record& record) {
  if (!entry.has("op")) fail_at(entry.source(), "the key 'op' is missing");
  Foreign foreign{entry.source(), format, entry.at("op").text()};
  if (entry.has("domain")) foreign.domain = entry.at("domain").text();
  if (entry.has("since")) foreign.since = to_int(entry.at("since"));
  if (entry.has("until")) foreign.until = to_int(entry.at("until"));
  if (foreign.until && *foreign.until < foreign.since)
    fail_at(entry.source(), "until {} comes before since {}", *foreign.until, foreign.since);
  for (const auto& [ours, theirs] : entry.items()) {
    if (ours != "op" && ours != "domain" && ours != "since" && ours != "until")
      load_foreign_name(foreign, ours, theirs, record);
  }
  return foreign;
}

std::vector<Foreign> load_foreign(const Yaml& yaml, const Record& record) {
  std::vector<Foreign> list;
  for (const auto& [format, entries] : yaml.items()) {
    for (const Yaml& entry : entries.elements()) {
      list.push_back(load_foreign_entry(format, entry, record));
    }
  }
  return list;
}

Record read_record(const Yaml& yaml) {
  Record record;
  record.source = yaml.source();
  record.name = yaml.at("op").text();
  record.doc = trimmed(yaml.at("doc").text());
  record.file_stem = std::filesystem::path(yaml.source().file).stem().string();
  if (yaml.has("types")) {
    for (const auto& [name, value] : yaml.at("types").items()) record.type_variables[name] = load_type_class(value);
  }
  if (yaml.has("attr")) {
    for (const auto& [name, value] : yaml.at("attr").items()) record.attributes.push_back(load_attribute(name, value));
  }
  record.inputs = load_ports(yaml.at("in"), record, false);
  record.outputs = load_ports(yaml.at("out"), record, true);
  if (yaml.has("let")) record.lets = load_expressions(yaml.at("let"));
  if (yaml.has("rules")) record.rules = load_expressions(yaml.at("rules"));
  if (yaml.has("compute")) {
    const Yaml compute = yaml.at("compute");
    record.compute = {compute.source(), "compute", compute.text(), parse_expr(compute.text(), compute.source())};
  }
  if (yaml.has("flops")) {
    const Yaml flops = yaml.at("flops");
    record.flops = {flops.source(), "flops", flops.text(), parse_expr(flops.text(), flops.source())};
  }
  if (yaml.has("elementwise")) record.says_elementwise = to_bool(yaml.at("elementwise"));
  if (yaml.has("codes")) record.says_codes = to_bool(yaml.at("codes"));
  if (yaml.has("quant")) record.quant = load_quant(yaml.at("quant"));
  if (yaml.has("foreign")) record.foreign = load_foreign(yaml.at("foreign"), record);
  if (yaml.has("regions")) record.regions = load_texts(yaml.at("regions"));
  if (yaml.has("flow")) record.flow = yaml.at("flow").text();
  if (yaml.has("kernels")) {
    const Yaml kernels = yaml.at("kernels");
    if (kernels.has("cpu")) record.cpu_kernels = load_texts(kernels.at("cpu"));
    if (kernels.has("cuda")) record.cuda_kernels = load_texts(kernels.at("cuda"));
  }
  return record;
}

}  // namespace

std::vector<Port> load_ports(const Yaml& yaml, const Record& record, bool are_outputs) {
  std::vector<Port> ports;
  for (const auto& [name, value] : yaml.items()) ports.push_back(load_port(name, value, record, are_outputs));
  return ports;
}

Loaded load_record(const Yaml& entry, Fragments& fragments, const Schema& schema) {
  const bool named = entry.has("op") && entry.at("op").is_scalar();
  const Yaml yaml = fragments.expand(named ? entry.under(entry.at("op").text()) : entry);
  schema.check_record(yaml);
  return {read_record(yaml), yaml};
}

}  // namespace halfstep::opgen
