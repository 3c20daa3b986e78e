#include "halfstep/quant/platform/legal_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "halfstep/passes/graph/traits.h"
#include "halfstep/quant/platform/errors.h"
#include "halfstep/quant/platform/record_names.h"
#include "halfstep/quant/platform/yaml_reader.h"

namespace halfstep::quant {
namespace {

/// A property of layers: `holds` tests an operation, `is_possible` tests whether an operator can have the property.
struct Property {
  const char* name;
  bool (*holds)(const Selected& operation);
  bool (*is_possible)(const OpInfo& op);
};

bool has_groups(const OpInfo& op) { return op.quant.weight >= 0 && op.attribute("groups") != nullptr; }
bool is_weighted(const OpInfo& op) { return op.quant.weight >= 0; }
bool has_window(const OpInfo& op) { return has_groups(op) || op.attribute("kernel") != nullptr; }

constexpr Property kProperties[] = {
    {"depthwise", [](const Selected& one) { return one.groups > 1 && one.groups == one.channels; }, has_groups},
    {"grouped", [](const Selected& one) { return one.groups > 1; }, has_groups},
    {"first", [](const Selected& one) { return one.is_first; }, is_weighted},
    {"last", [](const Selected& one) { return one.is_last; }, is_weighted}};

const Property& property(const std::string& name) {
  return *std::ranges::find_if(kProperties, [&](const Property& one) { return one.name == name; });
}

/// Operators that a rule selects, by name or by kind.
std::vector<const OpInfo*> operators_of(const LegalRule& rule) {
  std::vector<const OpInfo*> ops;
  for (const OpInfo& op : all_operators()) {
    if (can_have_codes(op) && (rule.op.empty() ? op.quant.trait == rule.trait : op.name == rule.op)) ops.push_back(&op);
  }
  return ops;
}

bool is_any(const LegalRule& rule, bool (*holds)(const OpInfo&)) {
  return std::ranges::any_of(operators_of(rule), [&](const OpInfo* op) { return holds(*op); });
}

/// Whether `rule` selects every operation that `other` selects.
bool covers(const LegalRule& rule, const LegalRule& other) {
  const auto others = operators_of(other);
  const bool all = std::ranges::all_of(
      others, [&](const OpInfo* op) { return rule.op.empty() ? op->quant.trait == rule.trait : op->name == rule.op; });
  const bool where =
      rule.where.empty() || rule.where == other.where || (rule.where == "grouped" && other.where == "depthwise");
  const auto takes = [&](int64_t bits) { return std::ranges::find(rule.reads, bits) != rule.reads.end(); };
  const bool reads = rule.reads.empty() || (!other.reads.empty() && std::ranges::all_of(other.reads, takes));
  return all && where && reads && rule.kernel_above <= other.kernel_above && rule.stride_above <= other.stride_above &&
         rule.inputs_above <= other.inputs_above;
}

void read_operator(LegalRule& rule, const YamlReader& reader) {
  if (reader.has("op") == reader.has("trait"))
    reader.object("",
                  errors::rule_without_one_operator(reader.has("op") ? "both op and trait" : "neither op nor trait"));
  if (reader.has("trait")) rule.trait = *parse_trait(reader.text("trait"));
  if (reader.has("op")) rule.op = read_name(reader, "op", operators_that(can_have_codes));
}

void read_properties(LegalRule& rule, const YamlReader& reader) {
  if (reader.has("where")) rule.where = reader.text("where");
  if (!rule.where.empty() && !is_any(rule, property(rule.where).is_possible))
    reader.object("where", errors::rule_does_not_fit_operators(rule.where, "a property that these operators can have"));
  if (reader.has("kernel_above")) rule.kernel_above = reader.integer("kernel_above");
  if (reader.has("stride_above")) rule.stride_above = reader.integer("stride_above");
  for (const char* key : {"kernel_above", "stride_above"}) {
    if (reader.has(key) && !is_any(rule, has_window))
      reader.object(key, errors::rule_does_not_fit_operators("operators without a window", "convolutions or pools"));
  }
  if (reader.has("inputs_above")) rule.inputs_above = reader.integer("inputs_above");
  if (rule.inputs_above > 0 && !is_any(rule, [](const OpInfo& op) { return op.has_variadic_input(); }))
    reader.object("inputs_above",
                  errors::rule_does_not_fit_operators("operators with a fixed number of inputs", "a concat"));
  rule.reads = reader.integers("reads");
}

/// Reports a list of bit widths that is empty, or contains no bit width of the general rule. No bit width would be
/// legal.
void object_to_bit_widths(const YamlReader& reader, const std::string& key, const std::vector<int64_t>& bit_widths,
                          const std::vector<int64_t>& general, const std::string& of) {
  const auto is_general = [&](int64_t bits) { return std::ranges::find(general, bits) != general.end(); };
  if (reader.has(key) && bit_widths.empty()) {
    reader.object(key, errors::rule_bit_widths_empty());
  } else if (!bit_widths.empty() && std::ranges::none_of(bit_widths, is_general)) {
    reader.object(key,
                  errors::rule_bit_widths_not_legal(fmt::format("{}", fmt::join(bit_widths, ", ")), of,
                                                    fmt::format("{}", fmt::join(general, ", "))),
                  {of + ".legal_bits"});
  }
}

void read_consequences(LegalRule& rule, const YamlReader& reader, const YamlReader& record) {
  rule.activations = reader.integers("activations");
  rule.weights = reader.integers("weights");
  rule.gives = reader.integers("gives");
  rule.refused = reader.boolean("refused");
  const std::vector<int64_t> activations = record.map("activations").integers("legal_bits");
  object_to_bit_widths(reader, "activations", rule.activations, activations, "activations");
  object_to_bit_widths(reader, "reads", rule.reads, activations, "activations");
  object_to_bit_widths(reader, "gives", rule.gives, activations, "activations");
  object_to_bit_widths(reader, "weights", rule.weights, record.map("weights").integers("legal_bits"), "weights");
  if (reader.has("weights") && !is_any(rule, is_weighted))
    reader.object("weights", errors::rule_does_not_fit_operators("operators without weights", "only activations"));
  const bool has_bit_widths = reader.has("activations") || reader.has("weights") || reader.has("gives");
  if (rule.refused && has_bit_widths) reader.object("refused", errors::rule_refuses_with_bit_widths());
  if (!rule.refused && !has_bit_widths)
    reader.object(
        "", errors::rule_without_consequence(),
        {reader.path_of("activations"), reader.path_of("weights"), reader.path_of("gives"), reader.path_of("refused")});
}

bool reads_only(const std::set<int64_t>& bit_widths, const std::vector<int64_t>& legal) {
  const auto is_legal = [&](int64_t bits) { return std::ranges::find(legal, bits) != legal.end(); };
  return !bit_widths.empty() && std::ranges::all_of(bit_widths, is_legal);
}

}  // namespace

bool can_have_codes(const OpInfo& op) {
  const QuantInfo& quant = op.quant;
  return !quant.integer.empty() || quant.lookup || quant.trait == Trait::preserves_range ||
         quant.trait == Trait::same_scale || quant.trait == Trait::ranks;
}

Selected selected(Op op) {
  Selected one{.op = &op.info()};
  const auto& attributes = op.attributes();
  const int weight = op.info().quant.weight;
  const Dims& activations = op.in(0).dims();
  if (weight >= 0 && activations.size() > 2) {
    const Dims& dims = op.in(weight).dims();
    one.channels = activations[1];
    one.kernel = dims.size() > 2 ? *std::max_element(dims.begin() + 2, dims.end()) : 0;
    if (const auto groups = attributes.find("groups"); groups != attributes.end())
      one.groups = std::get<int64_t>(groups->second);
  }
  const auto largest = [&](const char* name, int64_t otherwise) {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return otherwise;
    const auto& list = std::get<std::vector<int64_t>>(found->second);
    return list.empty() ? otherwise : std::ranges::max(list);
  };
  one.kernel = largest("kernel", one.kernel);
  one.stride = largest("stride", one.stride);
  one.inputs = std::ssize(passes::activation_inputs(op));
  return one;
}

bool LegalRule::selects(const Selected& operation) const {
  const bool named = op.empty() ? trait == operation.op->quant.trait : op == operation.op->name;
  return named && (where.empty() || property(where).holds(operation)) &&
         (kernel_above == 0 || operation.kernel > kernel_above) &&
         (stride_above == 0 || operation.stride > stride_above) &&
         (inputs_above == 0 || operation.inputs > inputs_above) &&
         (reads.empty() || reads_only(operation.reads, reads));
}

const std::vector<std::string>& layer_properties() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> all;
    for (const Property& one : kProperties) all.emplace_back(one.name);
    return all;
  }();
  return kNames;
}

std::vector<LegalRule> read_legal_rules(const YamlReader& record) {
  std::vector<LegalRule> rules;
  for (const YamlReader& reader : record.maps("legal")) {
    LegalRule rule;
    read_operator(rule, reader);
    const bool is_known = reader.is_sound("trait") && !operators_of(rule).empty();
    if (is_known) read_properties(rule, reader);
    if (is_known) read_consequences(rule, reader, record);
    rule.reason = reader.text("reason");
    const auto before = std::ranges::find_if(rules, [&](const LegalRule& one) { return covers(one, rule); });
    if (is_known && before != rules.end()) reader.object("", errors::rule_never_decides(before - rules.begin()));
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace halfstep::quant
