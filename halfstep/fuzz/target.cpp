#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/random.h"
#include "halfstep/fuzz/networks/generate.h"
#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

class Chooser {
 public:
  explicit Chooser(uint64_t seed, uint64_t stream = 200) : random_(seed, stream) {}
  bool chance(double p) { return random_.uniform() < p; }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_.below(static_cast<uint64_t>(high - low + 1)));
  }
  std::string one_of(const std::vector<std::string>& choices) { return choices[random_.below(choices.size())]; }

 private:
  Random random_;
};

/// Random overrides for the platform with the most options.
void override_generic(Chooser& chooser, const Network& network, Target& target) {
  const auto set = [&](const std::string& key, const std::string& value) { target.overrides.emplace_back(key, value); };
  const std::string form = chooser.one_of({"fixed_point", "fixed_point", "float32"});
  if (form != "fixed_point") {
    set("requantize.form", form);
    set("fused_activations.weighted", "[relu, relu6]");
  }
  if (form == "fixed_point" && chooser.chance(0.3))
    set("requantize.multiplier_bits", chooser.one_of({"15", "16", "23", "31"}));
  if (form == "fixed_point" && chooser.chance(0.25)) {
    const std::string rounding = chooser.one_of({"half_even", "half_away", "truncate", "doubled"});
    if (rounding == "doubled") set("requantize.multiplier_bits", "31");
    set("requantize.rounding", rounding);
  }
  if (chooser.chance(0.3)) set("weights.granularity", "tensor");
  if (chooser.chance(0.2)) set("weights.observer", "mse");
  if (chooser.chance(0.2)) set("activations.observer", "ema_mse");
  if (chooser.chance(0.3)) set("activations.zero_points", "offset");
  if (chooser.chance(0.25)) {
    set("activations.codes", "signed");
    if (chooser.chance(0.5)) set("activations.zero_points", "symmetric");
  }
  // Products of wide codes use the largest integers.
  const bool multiplies = operators_of(network.model.graph()).contains("Mul");
  if (chooser.chance(multiplies ? 0.7 : 0.2)) {
    set("activations.legal_bits", "[4, 8, 12, 16]");
    set("activations.bits", chooser.one_of({"16", "16", "16", "12"}));
  }
  if (chooser.chance(0.2)) set("rounding.mode", chooser.one_of({"half_even", "half_away", "half_up"}));
  if (chooser.chance(0.1)) set("rounding.method", "reciprocal");
  if (chooser.chance(0.15)) set("fused_activations.accumulates", chooser.one_of({"[]", "[relu]"}));
  if (chooser.chance(0.1) && form == "fixed_point") set("fused_activations.weighted", chooser.one_of({"[]", "[relu]"}));
  if (chooser.chance(0.1)) set("share_scales", chooser.one_of({"[]", "[concat, add]"}));
}

bool has_functions(const Network& network) {
  const auto operators = operators_of(network.model.graph());
  return std::ranges::any_of(all_recipes(), [&](const Recipe& recipe) {
    return recipe.home == Home::table && operators.contains(recipe.title());
  });
}

/// Whether a window has a stride above 2.
bool has_long_steps(const Network& network) {
  const auto is_long = [](const auto& attribute) {
    return attribute.name() == "strides" &&
           std::ranges::any_of(attribute.ints(), [](int64_t step) { return step > 2; });
  };
  return std::ranges::any_of(network.model.graph().node(),
                             [&](const auto& node) { return std::ranges::any_of(node.attribute(), is_long); });
}

/// A platform whose rules determine the quantizer positions, "" for most seeds.
std::string ruled_platform(uint64_t seed) {
  Chooser chooser(seed, 201);
  if (!chooser.chance(0.1)) return "";
  return chooser.one_of({"onnx_qnn", "pplcuda", "pplw8a16", "snpe", "tengine_u8", "vitis"});
}

}  // namespace

std::string Target::text() const {
  std::string text = platform;
  for (const auto& [key, value] : overrides) text += fmt::format(" --overrides '{}={}'", key, value);
  if (prepare.weight_bits) text += fmt::format(" --weight-bits {}", *prepare.weight_bits);
  if (prepare.activation_bits) text += fmt::format(" --activation-bits {}", *prepare.activation_bits);
  if (prepare.first_last_bits) text += fmt::format(" --first-last-bits {}", *prepare.first_last_bits);
  for (const auto& [weights, activations] : bits) text += fmt::format(" --bits '*={}/{}'", weights, activations);
  return text + (pad_channels ? " --pad-channels" : "");
}

Target random_target(uint64_t seed, const Network& network, const std::string& platform) {
  Chooser chooser(seed);
  Target target;
  target.platform = platform.empty() ? ruled_platform(seed) : "";
  if (!target.platform.empty()) return target;
  target.platform =
      chooser.one_of({"generic_int8", "generic_int8", "generic_int8", "generic_int8", "pow2_int8", "magik_t40",
                      "onnxruntime_int8", "onnxruntime_int8", "pytorch_fbgemm", "pytorch_x86", "signed_pow2_int8"});
  // PyTorch platforms refuse a whole network if it has one function on codes.
  if (target.platform.starts_with("pytorch") && has_functions(network)) target.platform = "generic_int8";
  // magik_t40 does the same for windows that Magik chips lack.
  if (target.platform == "magik_t40" && has_long_steps(network)) target.platform = "generic_int8";
  if (!platform.empty()) target.platform = platform;
  const bool generic = target.platform == "generic_int8";
  if (generic && chooser.chance(0.7)) override_generic(chooser, network, target);
  const bool pytorch = target.platform.starts_with("pytorch");
  const bool four = target.platform.ends_with("pow2_int8") || target.platform == "magik_t40";
  const auto width = [&] {
    return static_cast<int>(four ? (chooser.chance(0.5) ? 4 : 8) : chooser.between(2, pytorch ? 7 : 8));
  };
  if (chooser.chance(0.25)) target.prepare.weight_bits = width();
  if (!pytorch && target.overrides.empty() && chooser.chance(0.25)) target.prepare.activation_bits = width();
  if (!pytorch && chooser.chance(0.1)) target.prepare.first_last_bits = width();
  if (!pytorch && target.overrides.empty() && chooser.chance(0.1)) target.bits.emplace_back(width(), width());
  target.pad_channels = target.platform == "magik_t40" && chooser.chance(0.8);
  return target;
}

}  // namespace halfstep::fuzz
