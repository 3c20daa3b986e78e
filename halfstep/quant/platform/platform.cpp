#include "halfstep/quant/platform/platform.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>

#include "halfstep/core/arith/requantization.h"
#include "halfstep/core/arith/rounding.h"
#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/quant/platform/earlier_keys.h"
#include "halfstep/quant/platform/errors.h"
#include "halfstep/quant/platform/record_names.h"
#include "halfstep/quant/platform/yaml_reader.h"

namespace halfstep::quant {
namespace {

using Overrides = std::vector<std::pair<std::string, std::string>>;

void override_field(const YAML::Node& root, const std::string& path, const std::string& value) {
  YAML::Node node = root;
  std::string before;
  std::istringstream keys(path);
  for (std::string key; std::getline(keys, key, '.');) {
    std::vector<std::string> known;
    for (const RecordKey* one : keys_below(platform_keys(), before)) known.push_back(last_name(*one));
    const bool can_have_keys = !node.IsDefined() || node.IsMap() || node.IsNull();
    if (!can_have_keys || !contains(known, key))
      fail(errors::override_of_unknown_key(path, key, did_you_mean(key, known)));
    node.reset(node[key]);
    before += (before.empty() ? "" : ".") + key;
  }
  node = parse_yaml(value, "override '" + path + "'");
}

/// Adds the default of every key that the mapping omits.
void add_defaults(YAML::Node map, const std::string& path) {
  for (const RecordKey* key : keys_below(platform_keys(), path)) {
    YAML::Node value = map[last_name(*key)];
    if (value.IsDefined() && key->kind == ValueKind::mapping) {
      add_defaults(value, key->path);
    } else if (!value.IsDefined() && !key->absent.value_or("").empty()) {
      value = YAML::Load(*key->absent);
    }
  }
}

BitRule read_bits(const YamlReader& reader) {
  BitRule rule{static_cast<int>(reader.integer("bits")), reader.integers("legal_bits")};
  if (rule.legal.empty()) {
    reader.object("legal_bits", errors::legal_bits_empty());
  } else if (std::ranges::find(rule.legal, rule.default_bits) == rule.legal.end()) {
    reader.object("bits",
                  errors::default_bits_not_legal(rule.default_bits, fmt::format("{}", fmt::join(rule.legal, ", "))),
                  {reader.path_of("legal_bits")});
  }
  return rule;
}

void read_weights(Platform& platform, const YamlReader& reader) {
  platform.weights = read_bits(reader);
  platform.per_channel = reader.text("granularity") == "channel";
  platform.weight_zero_points = reader.text("zero_points");
  platform.weight_observer = reader.text("observer");
}

void read_activations(Platform& platform, const YamlReader& reader) {
  platform.activations = read_bits(reader);
  platform.signed_activations = reader.text("codes") == "signed";
  platform.activation_zero_points = reader.text("zero_points");
  const bool is_zero = platform.activation_zero_points == "symmetric" || platform.activation_zero_points == "centered";
  if (is_zero && !platform.signed_activations)
    reader.object("zero_points", errors::zero_points_need_signed_codes(platform.activation_zero_points),
                  {"activations.codes"});
  platform.activation_observer = reader.text("observer");
  platform.rate = reader.number("rate");
}

bool keeps_scales(const std::string& form) { return arith::traits(*arith::parse_requantization(form)).keeps_scales; }

/// Checks the rounding of shifts, if the form has shifts. Double rounding is only defined for 31-bit multipliers.
void read_shift_rounding(Platform& platform, const YamlReader& requantize) {
  platform.shift_rounding = requantize.text("rounding");
  const std::string& form = platform.requantize;
  const auto object = [&](Diagnostic said) {
    requantize.object("rounding", std::move(said), {"requantize.form", "requantize.multiplier_bits"});
  };
  if (platform.shift_rounding != "half_up" && keeps_scales(form))
    object(errors::shift_rounding_without_shifts(form, platform.shift_rounding));
  else if (platform.shift_rounding == "doubled" && (form != "fixed_point" || platform.multiplier_bits != 31))
    object(errors::doubled_rounding_needs_fixed_point());
}

void read_requantization(Platform& platform, const YamlReader& requantize) {
  platform.requantize = requantize.text("form");
  platform.multiplier_bits = static_cast<int>(requantize.integer("multiplier_bits"));
  if (keeps_scales(platform.requantize) && platform.multiplier_bits != 31)
    requantize.object("multiplier_bits",
                      errors::multiplier_bits_without_multiplier(platform.requantize, platform.multiplier_bits),
                      {"requantize.form"});
  platform.average_bits = static_cast<int>(requantize.integer("average_bits"));
  if (platform.average_bits != 0 && platform.requantize != "power_of_two")
    requantize.object("average_bits", errors::average_bits_without_shifts(platform.requantize, platform.average_bits),
                      {"requantize.form"});
  read_shift_rounding(platform, requantize);
  if (platform.requantize == "power_of_two" && !platform.power_of_two)
    requantize.object("form", errors::power_of_two_form_needs_scales(), {"power_of_two"});
}

void read_first_last(Platform& platform, const YamlReader& record, const YamlReader& edges) {
  platform.first_last_bits = static_cast<int>(edges.integer("bits"));
  platform.first_layers = static_cast<int>(edges.integer("first"));
  platform.last_layers = static_cast<int>(edges.integer("last"));
  if (record.has("insert") && (platform.first_layers != 1 || platform.last_layers != 1))
    edges.object("", errors::first_last_with_insertion_rules(platform.first_layers, platform.last_layers), {"insert"});
}

void read_observer_numbers(ObserverNumbers& numbers, const YamlReader& reader) {
  numbers.candidates = reader.integer("candidates");
  numbers.steps = reader.integer("steps");
  numbers.power = reader.number("power");
  numbers.share = reader.number("share");
  numbers.bins = reader.integer("bins");
  numbers.deviations = reader.number("deviations");
  numbers.nearest_power = reader.boolean("nearest_power");
  if (numbers.steps < numbers.candidates)
    reader.object("steps", errors::observer_steps_too_few(numbers.steps, numbers.candidates),
                  {reader.path_of("candidates")});
}

/// An observer that returns only powers of two needs power_of_two. power_of_two needs an observer that supports it.
void check_observer(const YamlReader& side, const std::string& observer, bool power_of_two) {
  const auto object = [&](Diagnostic said) { side.object("observer", std::move(said), {"power_of_two"}); };
  if (observer.empty()) return;
  if (gives_powers_of_two(observer) && !power_of_two) object(errors::observer_gives_powers_of_two(observer));
  if (starts_learning(observer) && power_of_two) object(errors::observer_gives_any_scale(observer));
}

/// Checks the settings that a kind of quantizer requires for its learned values.
void check_quantizer(const Platform& platform, const YamlReader& side, QuantizerKind kind, const BitRule& bits,
                     const std::string& zero_points) {
  using enum QuantizerKind;
  const auto require = [&](bool holds, const char* property, const char* expected, const std::string& other) {
    if (!holds)
      side.object("quantizer", errors::quantizer_kind_does_not_fit(traits_of(kind).name, property, expected), {other});
  };
  const bool has_powers = platform.power_of_two;
  require(kind != tqt || has_powers, "learns power-of-two scales", "power_of_two: true", "power_of_two");
  require(!has_powers || (kind != lsq_plus && kind != qdrop && kind != apot), "learns arbitrary scales",
          "power_of_two: false", "power_of_two");
  const std::string zero = side.path_of("zero_points"), legal = side.path_of("legal_bits");
  require(kind != lsq_plus || zero_points == "affine", "learns zero points", "affine zero points", zero);
  require(kind != pact || zero_points != "offset", "learns the ends of a range", "zero points that are not offset",
          zero);
  require(kind != nnie || zero_points == "symmetric" || zero_points == "centered",
          "has equally many levels below and above 0", "symmetric or centered zero points", zero);
  require(kind != nnie || bits.legal == std::vector<int64_t>{8}, "has codes of 8 bits", "legal_bits: [8]", legal);
  require(kind != apot || std::ranges::all_of(bits.legal, [](int64_t width) { return width <= 8; }),
          "has codes of 2 to 8 bits", "legal_bits of at most 8", legal);
}

void read_quantizers(Platform& platform, const YamlReader& record) {
  const auto read = [&](const char* name, const BitRule& bits,
                        const std::string& zero_points) -> std::optional<QuantizerKind> {
    const YamlReader side = record.map(name);
    if (!side.has("quantizer")) return std::nullopt;
    const std::string text = side.text("quantizer");
    const auto known = std::ranges::find(quantizer_kinds(), text, &QuantizerTraits::name);
    if (known == quantizer_kinds().end()) return std::nullopt;  // an unknown name is reported by its key
    const auto kind = static_cast<QuantizerKind>(known - quantizer_kinds().begin());
    check_quantizer(platform, side, kind, bits, zero_points);
    return kind;
  };
  platform.weight_quantizer = read("weights", platform.weights, platform.weight_zero_points);
  platform.activation_quantizer = read("activations", platform.activations, platform.activation_zero_points);
  if (!record.has("quantizers")) return;
  const YamlReader numbers = record.map("quantizers");
  platform.quantizer_numbers = {numbers.number("softness"), numbers.number("keep")};
}

void read_arithmetic(Platform& platform, const YamlReader& record) {
  const YamlReader low = record.map("low_bits");
  platform.low_bits_below = static_cast<int>(low.integer("below"));
  if (low.has("observer")) platform.low_bits_observer = low.text("observer");
  platform.low_bits_learned = low.boolean("learned");
  if (record.has("first_and_last")) read_first_last(platform, record, record.map("first_and_last"));
  platform.power_of_two = record.boolean("power_of_two");
  check_observer(record.map("weights"), platform.weight_observer, platform.power_of_two);
  check_observer(record.map("activations"), platform.activation_observer, platform.power_of_two);
  check_observer(low, platform.low_bits_observer, platform.power_of_two);
  if (record.has("observers")) read_observer_numbers(platform.observer_numbers, record.map("observers"));
  read_quantizers(platform, record);
  read_requantization(platform, record.map("requantize"));
  const YamlReader rounding = record.map("rounding");
  platform.method = rounding.text("method");
  platform.rounding = rounding.text("mode");
}

/// Whether the operator can have several operands with codes.
bool joins_codes(const OpInfo& op) {
  const QuantInfo& quant = op.quant;
  if (quant.integer.empty() && quant.trait != Trait::preserves_range && quant.trait != Trait::same_scale) return false;
  int codes = 0;
  for (int port = 0; std::cmp_less(port, op.inputs.size()); ++port) {
    if (port != quant.weight && port != quant.fill && !passes::is_number_port(quant, port))
      codes += op.inputs[static_cast<size_t>(port)].variadic ? 2 : 1;
  }
  return codes > 1;
}

/// Whether the result of the operator has its own quantizer. Operators that move codes have none. An activation
/// function may fuse into the preceding operator.
bool has_own_scale(const OpInfo& op) {
  return !op.quant.integer.empty() || (op.quant.lookup && op.quant.activation.empty());
}

/// Activation functions that every operator of `trait` can fuse under this requantization. leaky_relu needs a second
/// factor. A form that keeps scales has only one.
std::vector<std::string> fusable_activations(Trait trait, const std::string& form) {
  std::vector<std::string> able;
  for (const OpInfo& activation : all_operators()) {
    const std::string& name = activation.quant.activation;
    if (name.empty()) continue;
    const bool everywhere = std::ranges::all_of(all_operators(), [&](const OpInfo& op) {
      return op.quant.trait != trait ||
             contains(require_operator(op.quant.quantized, op.name).attribute("activation")->choices, name);
    });
    if (everywhere && !(keeps_scales(form) && name == "leaky_relu")) able.push_back(name);
  }
  return able;
}

std::vector<std::string> read_fused(const YamlReader& reader, Trait trait, const std::string& form) {
  const auto able = fusable_activations(trait, form);
  return read_names(
      reader, std::string(halfstep::name(trait)), able,
      fmt::format("activation functions that such operators can fuse with the {} form of requantization: {}", form,
                  fmt::join(able, ", ")),
      {"requantize.form"});
}

/// Layers that compute in float have quantizers only if insertion rules ask for them.
void object_to_float_layers(const Platform& platform, const YamlReader& record) {
  const auto needs_rules = [&](const YamlReader& reader, const char* key) {
    reader.object(key, errors::float_layers_need_insertion_rules(), {"insert"});
  };
  if (record.has("insert")) return;
  if (platform.weight_zero_points == "affine") needs_rules(record.map("weights"), "zero_points");
  if (!platform.no_integers.empty()) needs_rules(record, "no_integers");
}

void read_dump(DumpLayout& layout, const YamlReader& dump) {
  layout = {dump.text("order"), dump.text("packing"), dump.boolean("offset"), layout.border};
  if (!dump.has("border")) return;
  const YamlReader border = dump.map("border");
  layout.border = {border.integer("above"), border.integer("below"), border.integer("left"), border.integer("right")};
}

void read_rules(Platform& platform, const YamlReader& record) {
  platform.share_scales = read_names(record, "share_scales", operators_that(joins_codes));
  platform.keep_scales = read_names(record, "keep_scales", operators_that(has_own_scale));
  platform.in_float = read_names(record, "in_float", operators_that(can_have_codes));
  platform.deploy = read_names(record, "deploy", deploy_formats());
  if (record.has("dump")) read_dump(platform.dump, record.map("dump"));
  const YamlReader fused = record.map("fused_activations");
  platform.weighted_activations = read_fused(fused, Trait::weighted, platform.requantize);
  platform.accumulates_activations = read_fused(fused, Trait::accumulates, platform.requantize);
  const YamlReader channels = record.map("channels");
  platform.channels.multiple = channels.integer("multiple");
  platform.channels.above = channels.integer("above");
  platform.legal = read_legal_rules(record);
  if (record.has("insert")) platform.insertion = read_insertion(record);
  platform.no_integers = record.text("no_integers");
  object_to_float_layers(platform, record);
}

/// Merges `over` into `base`: mappings key by key, other nodes as a whole.
YAML::Node merged(const YAML::Node& base, const YAML::Node& over) {
  if (!base.IsMap() || !over.IsMap()) return over;
  YAML::Node result = YAML::Clone(base);
  for (const auto& entry : over) {
    const auto key = entry.first.as<std::string>();
    const YAML::Node before = static_cast<const YAML::Node&>(result)[key];
    result[key] = before.IsDefined() ? merged(before, entry.second) : entry.second;
  }
  return result;
}

Platform parse(const RecordSource& source, const Overrides& overrides, std::vector<std::string> derived);

/// The base of a record, and the errors found while loading it.
struct Base {
  YAML::Node record = YAML::Node(YAML::NodeType::Undefined);
  std::vector<Diagnostic> objections = {};
  bool is_known = true;
};

/// The resolved record of the base that `root` names. `derived` lists the files that build on it, the file of `root`
/// last.
Base base_of(const YAML::Node& root, const std::vector<std::string>& derived) {
  const YAML::Node named = root.IsMap() ? root["base"] : YAML::Node(YAML::NodeType::Undefined);
  if (!named.IsDefined()) return {};
  if (!named.IsScalar()) return {.is_known = false};  // reported as a wrong type of the key
  const std::string where = fmt::format("{}:{}: base", derived.back(), named.Mark().line + 1);
  const auto unknown = [](const Error& error) { return Base{{}, error.diagnostics(), false}; };
  RecordSource source;
  try {
    source = find_record(named.Scalar(), derived.back());
  } catch (const Error& error) {
    return unknown(prefixed(where, error));
  }
  if (contains(derived, source.file))
    return unknown(
        Error(errors::base_includes_itself(where, fmt::format("{}, {}", fmt::join(derived, ", "), source.file))));
  try {
    return {.record = YAML::Load(parse(source, {}, derived).text)};
  } catch (const Error& error) {
    return unknown(error);
  }
}

/// Returns an error if the bit width is not legal.
std::optional<Diagnostic> objection_to(std::string_view platform, std::string_view values, int bits,
                                       const std::vector<int64_t>& legal, const std::string& reason) {
  if (legal.empty() || std::find(legal.begin(), legal.end(), bits) != legal.end()) return std::nullopt;
  const std::string listed = fmt::format("{}", fmt::join(legal, ", "));
  return errors::bits_not_legal(values, platform, bits, reason.empty() ? listed : listed + " (" + reason + ")");
}

}  // namespace

std::vector<Diagnostic> Platform::objections(const Selected& operation, int weight_bits, int activation_bits) const {
  const auto rule = std::ranges::find_if(legal, [&](const LegalRule& one) { return one.selects(operation); });
  const bool ruled = rule != legal.end();
  if (ruled && rule->refused) return {errors::operator_refused(name, operation.op->name, rule->reason)};
  std::vector<Diagnostic> found;
  const auto require = [&](std::string_view values, int bits, const BitRule& general,
                           const std::vector<int64_t>* special) {
    auto objection = objection_to(name, values, bits, general.legal, "");
    if (!objection && special != nullptr) objection = objection_to(name, values, bits, *special, rule->reason);
    if (objection) found.push_back(std::move(*objection));
  };
  require("activations", activation_bits, activations, ruled ? &rule->activations : nullptr);
  if (weight_bits > 0) require("weights", weight_bits, weights, ruled ? &rule->weights : nullptr);
  if (ruled && operation.gives > 0) {
    const std::string values = fmt::format("results of {}", operation.op->name);
    auto objection = objection_to(name, values, static_cast<int>(operation.gives), rule->gives, rule->reason);
    if (objection) found.push_back(std::move(*objection));
  }
  return found;
}

bool Platform::fuses(std::string_view activation, Trait trait) const {
  const auto& list = trait == Trait::weighted ? weighted_activations : accumulates_activations;
  return (trait == Trait::weighted || trait == Trait::accumulates) &&
         std::find(list.begin(), list.end(), activation) != list.end();
}

namespace {

/// `derived`: files that build on this one.
Platform parse(const RecordSource& source, const Overrides& overrides, std::vector<std::string> derived) {
  const YAML::Node root = parse_yaml(source.text, source.file);
  std::vector<std::string> earlier_keys = rename_earlier_keys(root);
  for (const auto& [path, value] : overrides) override_field(root, current_path(path), value);
  derived.push_back(source.file);
  Base base = base_of(root, derived);
  YamlDocument document(root, source.file, platform_keys(), base.record);
  if (!base.is_known) {  // keys that the unknown base may define are not missing
    std::ranges::copy_if(document.objections(), std::back_inserter(base.objections), [](const Diagnostic& one) {
      return one.entry != &errors::record_key_missing_entry && one.entry != &errors::record_list_key_missing_entry;
    });
    fail_on_any(std::move(base.objections));
  }
  const YamlReader record = document.reader();
  Platform platform;
  platform.earlier_keys = std::move(earlier_keys);
  platform.name = record.text("platform");
  platform.doc = record.text("doc");
  read_weights(platform, record.map("weights"));
  read_activations(platform, record.map("activations"));
  read_arithmetic(platform, record);
  read_rules(platform, record);
  fail_on_any(document.objections());
  YAML::Node resolved = base.record.IsDefined() ? merged(base.record, root) : root;
  resolved.remove("base");
  add_defaults(resolved, "");
  platform.text = YAML::Dump(resolved) + "\n";
  return platform;
}

}  // namespace

Platform parse_platform(const std::string& text, const std::string& file, const Overrides& overrides) {
  return parse({text, file}, overrides, {});
}

const Platform& parsed(const PlatformRecord& record) {
  return record.as<Platform>(
      [](const std::string& text) { return parse_platform(text, "the platform of the network"); });
}

Platform load_platform(const std::string& name_or_path, const Overrides& overrides) {
  return parse(find_record(name_or_path), overrides, {});
}

}  // namespace halfstep::quant
