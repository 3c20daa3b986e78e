// A target: the capabilities of its hardware, and how Halfstep quantizes for it. Read from platforms/*.yaml. Only quant
// reads these files.
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

/// Bit widths of the weights or of the activations of an operator.
struct BitRule {
  int default_bits = 8;
  std::vector<int64_t> legal;
};

/// Parameters of trained quantizers.
struct QuantizerNumbers {
  double softness = 0.4;  ///< dsq: softness of the steps
  double keep = 0.5;      ///< qdrop: share of the elements that training quantizes
};

/// The section `dump` of a record.
struct DumpLayout {
  std::string order = "nhwc", packing = "none";
  bool offset = false;
  std::vector<int64_t> border = {0, 0, 0, 0};  ///< above, below, left, right
};

struct Platform {
  std::string name, doc;
  BitRule weights, activations;
  bool per_channel = true;                       ///< one weight scale for each output channel
  std::string weight_zero_points = "symmetric";  ///< symmetric, centered, affine
  std::string weight_observer;                   ///< a name from quant/platform/observers.h
  std::string activation_observer;
  ObserverNumbers observer_numbers;
  std::optional<QuantizerKind> weight_quantizer, activation_quantizer;  ///< absent: lsq or fixed, see low_bits_below
                                                                        ///< and low_bits_learned
  QuantizerNumbers quantizer_numbers;
  bool signed_activations = false;     ///< signed codes for activations
  std::string activation_zero_points;  ///< affine or offset, for signed activations symmetric or centered
  double rate = 0.05;                  ///< weight of a new batch in the moving average of an activation range
  int low_bits_below = 8;              ///< quantizers with fewer bits use low_bits_observer and low_bits_learned
  std::string low_bits_observer;       ///< "": the observer for more bits
  bool low_bits_learned = true;        ///< scales are parameters (LSQ)
  std::optional<int> first_last_bits;  ///< default for the first and last layers with weights, absent: as other layers
  int first_layers = 1, last_layers = 1;  ///< number of first and last layers
  bool power_of_two = false;
  std::string requantize;  ///< fixed_point, power_of_two, float32, fbgemm, x86
  int multiplier_bits = 31;
  int average_bits = 0;  ///< power_of_two: bits of the factor of an average, 0: averages only shift
  std::string shift_rounding = "half_up";
  std::string method, rounding;           ///< method and rounding of quantizers, see docs/arithmetic.md, section 2
  std::vector<std::string> share_scales;  ///< operators whose inputs share a scale
  std::vector<std::string> keep_scales;   ///< operators whose result has the scale of their input
  std::vector<std::string> in_float;      ///< operators that the chip computes in float
  std::vector<std::string> weighted_activations;     ///< activation functions that fuse into operators with weights
  std::vector<std::string> accumulates_activations;  ///< activation functions that fuse into add, mul and pools
  passes::ChannelRule channels;                      ///< multiples of channels that convolutions need
  std::vector<LegalRule> legal;
  std::vector<std::string> deploy;          ///< file formats for the target's tools, from deploy_formats()
  DumpLayout dump;                          ///< layout of values written for a comparison with the chip
  std::optional<InsertionRules> insertion;  ///< absent: every operator with an integer implementation has quantizers
  std::string no_integers;                  ///< reason why the target has no integer arithmetic, "" if it has
  std::vector<std::string> earlier_keys;    ///< notes on keys that the record spells as version 0.1 did
  std::string text;                         ///< the resolved record: base, overrides and defaults applied

  /// Reasons why the operation is refused, or cannot have these bit widths. Empty if it is legal. weight_bits 0 means
  /// no weight. The diagnostics have no location and no remedy.
  std::vector<Diagnostic> objections(const Selected& operation, int weight_bits, int activation_bits) const;
  /// Whether `activation` fuses into operators of the trait.
  bool fuses(std::string_view activation, Trait trait) const;
};

/// A dotted key of a record and its new value, for example ("activations.rate", "0.1").
using Override = std::pair<std::string, std::string>;

/// Loads a built-in platform by name (case-insensitive), or the YAML file at a path. Throws an Error that lists all
/// mistakes in the record.
Platform load_platform(const std::string& name_or_path, const std::vector<Override>& overrides = {});

/// Parses the text of a record. `file` is the name for messages.
Platform parse_platform(const std::string& text, const std::string& file, const std::vector<Override>& overrides = {});

/// The platform of a prepared Model. Parsed once and shared by all copies of the record. The record must not be empty.
const Platform& parsed(const PlatformRecord& record);

}  // namespace halfstep::quant
