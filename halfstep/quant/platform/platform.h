// A target: what its hardware can do and how Halfstep quantizes for it. platforms/*.yaml; nothing outside quant reads
// one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/metadata/learned_quantizer.h"
#include "halfstep/core/ir/metadata/stored_platform.h"
#include "halfstep/passes/quantized/pad_channels.h"
#include "halfstep/quant/platform/insertion_rules.h"
#include "halfstep/quant/platform/legal_rules.h"
#include "halfstep/quant/platform/observers.h"
#include "halfstep/quant/platform/platform_files.h"

namespace halfstep::quant {

/// Widths of one side of an operator.
struct BitRule {
  int default_bits = 8;
  std::vector<int64_t> legal;
};

/// Numbers that quantizers have.
struct QuantizerNumbers {
  double softness = 0.4;  ///< dsq
  double keep = 0.5;      ///< qdrop
};

/// The section `dump`.
struct DumpLayout {
  std::string order = "nhwc", packing = "none";
  bool offset = false;
  std::vector<int64_t> border = {0, 0, 0, 0};  ///< above, below, left, right
};

struct Platform {
  std::string name, doc;
  BitRule weights, features;
  bool per_channel = true;                       ///< one weight scale per output channel
  std::string weight_zero_points = "symmetric";  ///< symmetric, centered, affine
  std::string weight_observer;                   ///< see quant/platform/observers.h
  std::string feature_observer;
  ObserverNumbers observer_numbers;
  std::optional<QuantizerKind> weight_quantizer, feature_quantizer;  ///< absent: lsq or fixed, as low_bits says
  QuantizerNumbers quantizer_numbers;
  bool signed_features = false;     ///< codes around 0
  std::string feature_zero_points;  ///< affine, offset; symmetric or centered where they are signed
  double rate = 0.05;               ///< share of a new batch in a feature's range
  int low_bits_below = 8;           ///< quantizers of fewer bits use the two fields that follow
  std::string low_bits_observer;    ///< "": as for more bits
  bool low_bits_learned = true;     ///< scales are parameters (LSQ)
  std::optional<int> edge_bits;     ///< first and last weighted layers, unless asked otherwise; absent: as the others
  int first_edges = 1, last_edges = 1;  ///< how many layers those are
  bool power_of_two = false;
  std::string requantize;  ///< fixed_point, power_of_two, float32, fbgemm, x86
  int multiplier_bits = 31;
  std::string shift_rounding = "half_up";
  std::string method, rounding;                      ///< of quantizers; docs/arithmetic.md, section 2
  std::vector<std::string> share_scales;             ///< operators whose inputs must share a scale
  std::vector<std::string> keep_scales;              ///< operators whose result has the scale of what they read
  std::vector<std::string> in_float;                 ///< operators that the chip computes in float
  std::vector<std::string> weighted_activations;     ///< activations that fuse into a weighted operator
  std::vector<std::string> accumulates_activations;  ///< activations that fuse into add, mul, pools
  passes::ChannelRule channels;                      ///< of convolutions
  std::vector<LegalRule> legal;
  std::vector<std::string> deploy;          ///< files for the target's tools, of deploy_formats()
  DumpLayout dump;                          ///< of values that are written to be compared with the chip's
  std::optional<InsertionRules> insertion;  ///< absent: whatever has a form on codes has quantizers
  std::string no_integers;                  ///< why the target has no integer arithmetic; "" where it has
  std::string text;                         ///< the resolved record: base, overrides and defaults in their places

  /// Why the operation is refused or cannot have these widths, nothing when it can; weight_bits 0 means no weight.
  /// Neither place nor remedy is said.
  std::vector<Diagnostic> objections(const Selected& operation, int weight_bits, int activation_bits) const;
  /// Whether `activation` fuses into an operator of that trait.
  bool fuses(std::string_view activation, Trait trait) const;
};

/// A dotted key of a record and its new value: ("features.rate", "0.1").
using Override = std::pair<std::string, std::string>;

/// A built-in name (in any case) or the path of a YAML file.
Platform load_platform(const std::string& name_or_path, const std::vector<Override>& overrides = {});

/// From the text of a record; `file` is for messages.
Platform parse_platform(const std::string& text, const std::string& file, const std::vector<Override>& overrides = {});

/// What a Model has of its platform, read once for all copies of it; the record is there.
const Platform& parsed(const PlatformRecord& record);

}  // namespace halfstep::quant
