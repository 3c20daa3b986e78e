#include "halfstep/quant/platform.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "halfstep/arith/requantization.h"
#include "halfstep/arith/rounding.h"
#include "halfstep/base/embedded.h"
#include "halfstep/base/nearest.h"
#include "halfstep/quant/yaml_reader.h"

namespace halfstep::quant {
namespace {

using Overrides = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kFolder = "platforms/";
constexpr std::string_view kSuffix = ".yaml";

void override_field(const YAML::Node& root, const std::string& path, const std::string& value) {
  YAML::Node node = root;
  std::istringstream keys(path);
  for (std::string key; std::getline(keys, key, '.');) {
    if (!node.IsMap() || !static_cast<const YAML::Node&>(node)[key].IsDefined()) {
      std::vector<std::string> known;
      if (node.IsMap()) {
        for (const auto& entry : node) known.push_back(entry.first.Scalar());
      }
      fail("override '{}': the platform has no key '{}'{}", path, key, did_you_mean(key, known));
    }
    node.reset(node[key]);
  }
  node = parse_yaml(value, "override '" + path + "'");
}

BitRule read_bits(YamlReader& reader) {
  BitRule rule;
  rule.legal = reader.integers("legal_bits");
  if (rule.legal.empty()) fail("{}: found no width, expected at least one", reader.where("legal_bits"));
  for (const int64_t bits : rule.legal) {
    if (bits < 2 || bits > 16) fail("{}: found {}, expected 2 to 16", reader.where("legal_bits"), bits);
  }
  rule.default_bits = static_cast<int>(reader.integer("bits", 2, 16));
  if (std::find(rule.legal.begin(), rule.legal.end(), rule.default_bits) == rule.legal.end())
    fail("{}: {} is not legal here; expected one of {}", reader.where("bits"), rule.default_bits,
         fmt::join(rule.legal, ", "));
  return rule;
}

const std::vector<std::string> kObservers = {"minmax", "mse"};

void read_weights(Platform& platform, YamlReader reader) {
  platform.weights = read_bits(reader);
  if (*std::max_element(platform.weights.legal.begin(), platform.weights.legal.end()) > 8)
    fail("{}: found more than 8 bits, expected 2 to 8 for weights", reader.where("legal_bits"));
  platform.per_channel = reader.text("granularity", {"channel", "tensor"}) == "channel";
  if (reader.has("zero_points"))
    platform.weight_zero_points = reader.text("zero_points", {"symmetric", "centered", "affine"});
  platform.weight_observer = reader.text("observer", kObservers);
  reader.finish();
}

void read_features(Platform& platform, YamlReader reader) {
  platform.features = read_bits(reader);
  platform.signed_features = reader.has("codes") && reader.text("codes", {"unsigned", "signed"}) == "signed";
  platform.feature_zero_points = reader.text("zero_points", {"affine", "offset", "symmetric", "centered"});
  const bool is_zero = platform.feature_zero_points == "symmetric" || platform.feature_zero_points == "centered";
  if (is_zero && !platform.signed_features)
    fail("{}: {} needs signed codes; a negative value has no unsigned one", reader.where("zero_points"),
         platform.feature_zero_points);
  platform.feature_observer = reader.text("observer", kObservers);
  platform.rate = reader.number("rate", 1e-6, 1.0);
  reader.finish();
}

std::vector<std::string> forms() {
  std::vector<std::string> names;
  for (const auto& form : arith::kRequantizations) names.emplace_back(form.name);
  return names;
}

/// Of forms that shift. What is rounded twice is a product of 31 bits.
void read_shift_rounding(Platform& platform, YamlReader& requantize) {
  platform.shift_rounding =
      requantize.text("rounding", {std::begin(arith::kShiftRoundings), std::end(arith::kShiftRoundings)});
  const std::string& form = platform.requantize;
  if (platform.shift_rounding != "half_up" && arith::traits(*arith::parse_requantization(form)).keeps_scales)
    fail("{}: {} has no shifts, whose rounding could be {}", requantize.where("rounding"), form,
         platform.shift_rounding);
  if (platform.shift_rounding == "doubled" && (form != "fixed_point" || platform.multiplier_bits != 31))
    fail("{}: doubled needs fixed_point and multipliers of 31 bits", requantize.where("rounding"));
}

void read_arithmetic(Platform& platform, YamlReader& root) {
  YamlReader low = root.map("low_bits");
  platform.low_bits_below = static_cast<int>(low.integer("below", 0, 17));
  platform.low_bits_observer = low.text("observer", kObservers);
  platform.low_bits_learned = low.boolean("learned");
  low.finish();
  if (root.has("edges")) {
    YamlReader edges = root.map("edges");
    platform.edge_bits = static_cast<int>(edges.integer("bits", 2, 8));
    edges.finish();
  }
  platform.power_of_two = root.boolean("power_of_two");
  YamlReader requantize = root.map("requantize");
  platform.requantize = requantize.text("form", forms());
  platform.multiplier_bits = static_cast<int>(requantize.integer("multiplier_bits", 15, 31));
  if (requantize.has("rounding")) read_shift_rounding(platform, requantize);
  if (platform.requantize == "power_of_two" && !platform.power_of_two)
    fail("{}: power_of_two needs power_of_two scales", requantize.where("form"));
  requantize.finish();
  YamlReader rounding = root.map("rounding");
  platform.method = rounding.text("method", {"divide", "reciprocal"});
  platform.rounding = rounding.text("mode", {"half_even", "half_away", "half_up"});
  rounding.finish();
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Names of the operators for which `takes` holds.
template <class Takes>
std::vector<std::string> operators_that(Takes takes) {
  std::vector<std::string> names;
  for (const OpInfo& op : all_operators()) {
    if (takes(op)) names.push_back(op.name);
  }
  return names;
}

/// Whether several values of codes can go into the operator.
bool joins_codes(const OpInfo& op) {
  const QuantInfo& quant = op.quant;
  if (quant.integer.empty() && quant.trait != Trait::preserves_range && quant.trait != Trait::same_scale) return false;
  int codes = 0;
  for (int port = 0; std::cmp_less(port, op.inputs.size()); ++port) {
    if (port != quant.weight && port != quant.bias && port != quant.fill)
      codes += op.inputs[static_cast<size_t>(port)].variadic ? 2 : 1;
  }
  return codes > 1;
}

/// Whether the operator has a quantizer for its result that is its own: what moves codes has none, and an activation
/// may go into the operator in front of it.
bool has_own_scale(const OpInfo& op) {
  return !op.quant.integer.empty() || (op.quant.lookup && op.quant.activation.empty());
}

/// The operators of a list, which exist and are among `able`.
std::vector<std::string> read_operators(YamlReader& reader, const std::string& key, std::string_view expected,
                                        const std::vector<std::string>& able) {
  std::vector<std::string> names = reader.texts(key);
  for (const std::string& name : names) {
    require_operator(name, reader.where(key));
    if (!contains(able, name))
      fail("{}: found {}, expected {}{}", reader.where(key), name, expected, did_you_mean(name, able));
  }
  return names;
}

/// Activations that every operator of `trait` takes in when it requantizes in that form; leaky_relu needs a second
/// factor, and scales that are kept are one.
std::vector<std::string> fusable_activations(Trait trait, const std::string& form) {
  std::vector<std::string> able;
  for (const OpInfo& activation : all_operators()) {
    const std::string& name = activation.quant.activation;
    if (name.empty()) continue;
    const bool everywhere = std::ranges::all_of(all_operators(), [&](const OpInfo& op) {
      return op.quant.trait != trait ||
             contains(require_operator(op.quant.quantized, op.name).attribute("activation")->choices, name);
    });
    const bool one_factor = arith::traits(*arith::parse_requantization(form)).keeps_scales && name == "leaky_relu";
    if (everywhere && !one_factor) able.push_back(name);
  }
  return able;
}

std::vector<std::string> read_activations(YamlReader& reader, Trait trait, const std::string& form) {
  const std::string key(halfstep::name(trait));
  const auto able = fusable_activations(trait, form);
  std::vector<std::string> names = reader.texts(key);
  for (const std::string& name : names) {
    if (!contains(able, name))
      fail("{}: found '{}', expected activations that such operators take in with the {} form of requantization: {}{}",
           reader.where(key), name, form, fmt::join(able, ", "), did_you_mean(name, able));
  }
  return names;
}

void read_rules(Platform& platform, YamlReader& root) {
  platform.share_scales = read_operators(root, "share_scales", "operators that several values of codes go into",
                                         operators_that(joins_codes));
  if (root.has("keep_scales"))
    platform.keep_scales = read_operators(root, "keep_scales", "operators on codes whose result has a scale of its own",
                                          operators_that(has_own_scale));
  YamlReader activations = root.map("activations");
  platform.weighted_activations = read_activations(activations, Trait::weighted, platform.requantize);
  platform.accumulates_activations = read_activations(activations, Trait::accumulates, platform.requantize);
  activations.finish();
  YamlReader channels = root.map("channels");
  platform.channels.multiple = channels.integer("multiple", 1, 4096);
  platform.channels.above = channels.integer("above", 0, 65536);
  channels.finish();
  for (YamlReader& rule : root.maps("legal")) {
    LegalRule legal;
    if (rule.has("op") == rule.has("trait"))
      fail("{}: expected either op or trait", rule.where(rule.has("op") ? "op" : "reason"));
    if (rule.has("op")) legal.op = rule.text("op");
    if (!legal.op.empty()) require_operator(legal.op, rule.where("op"));
    if (rule.has("trait"))
      legal.trait =
          *parse_trait(rule.text("trait", {"weighted", "accumulates", "pointwise", "preserves_range", "same_scale"}));
    if (rule.has("features")) legal.features = rule.integers("features");
    if (rule.has("weights")) legal.weights = rule.integers("weights");
    if (rule.has("refused")) legal.refused = rule.boolean("refused");
    legal.reason = rule.text("reason");
    rule.finish();
    platform.legal.push_back(std::move(legal));
  }
  if (root.has("insert")) platform.insertion = read_insertion(root.map("insert"));
  if (root.has("no_integers")) platform.no_integers = root.text("no_integers");
}

std::string read_file(const std::string& path) {
  std::error_code failed;  // a pipe would be waited for
  std::ifstream stream;
  if (std::filesystem::is_regular_file(path, failed)) stream.open(path, std::ios::binary);
  if (!stream.is_open())
    fail("{}: cannot be read; expected a platform file or one of {}", path, fmt::join(platform_names(), ", "));
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The path of the built-in record of that name, in any case; "" for none.
std::string built_in(const std::string& name) {
  const auto lower = [](std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  };
  for (const std::string& known : platform_names()) {
    if (lower(known) == lower(name)) return std::string(kFolder) + known + std::string(kSuffix);
  }
  return "";
}

/// `over` upon `base`: mappings key by key, anything else as a whole.
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

/// The record with what its base says where it says nothing, and that one's base.
YAML::Node with_base(const YAML::Node& root, const std::string& file, std::vector<std::string> seen) {
  const YAML::Node base = root.IsMap() ? root["base"] : YAML::Node(YAML::NodeType::Undefined);
  if (!base.IsDefined()) return root;
  const std::string where = fmt::format("{}:{}: base", file, base.Mark().line + 1);
  if (!base.IsScalar()) fail("{}: found no name, expected that of a platform", where);
  const std::string& name = base.Scalar();
  const std::string path = built_in(name);
  if (path.empty()) fail("{}: platform '{}' is not known{}", where, name, known_names(name, platform_names()));
  if (std::ranges::find(seen, path) != seen.end())
    fail("{}: '{}' has itself as a base: {}", where, name, fmt::join(seen, ", "));
  seen.push_back(path);
  YAML::Node result = merged(with_base(parse_yaml(text_of(*find_embedded(path)), path), path, seen), root);
  result.remove("base");
  return result;
}

/// What is wrong with a width.
std::optional<Objection> objection_to(std::string_view platform, std::string_view what, int bits,
                                      const std::vector<int64_t>& legal, const std::string& reason) {
  if (legal.empty() || std::find(legal.begin(), legal.end(), bits) != legal.end()) return std::nullopt;
  return Objection{
      .what = fmt::format("{} on {}", what, platform),
      .found = fmt::format("{} bits", bits),
      .expected = fmt::format("{}{}", fmt::join(legal, ", "), reason.empty() ? "" : fmt::format(" ({})", reason))};
}

}  // namespace

std::vector<Objection> Platform::objections(const OpInfo& op, int weight_bits, int feature_bits) const {
  const auto rule = std::ranges::find_if(legal, [&](const LegalRule& candidate) {
    return candidate.op.empty() ? candidate.trait == op.quant.trait : candidate.op == op.name;
  });
  const bool ruled = rule != legal.end();
  if (ruled && rule->refused) return {{.what = fmt::format("{} has no {}: {}", name, op.name, rule->reason)}};
  std::vector<Objection> found;
  const auto require = [&](std::string_view what, int bits, const BitRule& general,
                           const std::vector<int64_t>* special) {
    auto objection = objection_to(name, what, bits, general.legal, "");
    if (!objection && special != nullptr) objection = objection_to(name, what, bits, *special, rule->reason);
    if (objection) found.push_back(std::move(*objection));
  };
  require("features", feature_bits, features, ruled ? &rule->features : nullptr);
  if (weight_bits > 0) require("weights", weight_bits, weights, ruled ? &rule->weights : nullptr);
  return found;
}

bool Platform::fuses(std::string_view activation, Trait trait) const {
  const auto& list = trait == Trait::weighted ? weighted_activations : accumulates_activations;
  return (trait == Trait::weighted || trait == Trait::accumulates) &&
         std::find(list.begin(), list.end(), activation) != list.end();
}

std::vector<std::string> platform_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path.starts_with(kFolder))
      names.emplace_back(file.path.substr(kFolder.size(), file.path.size() - kFolder.size() - kSuffix.size()));
  }
  return names;
}

Platform parse_platform(const std::string& text, const std::string& file, const Overrides& overrides) {
  YAML::Node root = with_base(parse_yaml(text, file), file, {file});
  for (const auto& [path, value] : overrides) override_field(root, path, value);
  Platform platform;
  YamlReader reader(root, file, "");
  platform.name = reader.text("platform");
  platform.doc = reader.text("doc");
  read_weights(platform, reader.map("weights"));
  read_features(platform, reader.map("features"));
  read_arithmetic(platform, reader);
  read_rules(platform, reader);
  reader.finish();
  platform.text = YAML::Dump(root) + "\n";
  return platform;
}

Platform load_platform(const std::string& name_or_path, const Overrides& overrides) {
  if (const std::string path = built_in(name_or_path); !path.empty())
    return parse_platform(text_of(*find_embedded(path)), path, overrides);
  const bool is_path = name_or_path.find('/') != std::string::npos || name_or_path.ends_with(kSuffix);
  if (!is_path) {
    const auto names = platform_names();
    fail("platform '{}' is not known{}; expected a file or one of {}", name_or_path, did_you_mean(name_or_path, names),
         fmt::join(names, ", "));
  }
  return parse_platform(read_file(name_or_path), name_or_path, overrides);
}

}  // namespace halfstep::quant
