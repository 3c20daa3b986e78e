// One quantizer of a prepared network: its widths, its tensors, its observer.
#pragma once

#include <span>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/quant/platform/platform.h"

namespace halfstep::quant {

/// Where a quantizer goes.
struct QuantizerPlace {
  std::vector<Value> values;  ///< one value, or several that share a scale; a weight tensor alone
  std::string name;           ///< its tensors are NAME.scale, NAME.zero_point, NAME.low, NAME.high
  int weight_axis = -1;       ///< axis of output channels; -1 for features
  int bits = 8;
  bool is_unsigned =
      false;  ///< of features on a target of signed ones: codes from 0 on, zero point 0 if nothing is below
  std::vector<Value> also_seen = {};  ///< tensors that the observer sees too, without a quantizer behind them
  bool sees_also_alone = false;       ///< the observer sees these alone: nothing else of the values is read as codes
  bool at_edge = false;               ///< at an end of the network, whose widths are its own
  double reach = 0;  ///< what lies further below the largest of its row counts for nothing; 0: all counts
};

/// Inserts a quantizer behind a feature that has the same codes as another one's: its tensors and attributes.
void insert_alike(Model& model, Value value, const ops::FakeQuantize& other);

/// Gives all quantizers that have the scale of this one the tensors and attributes of `other`; its observer goes.
void take_codes_of(Model& model, const ops::FakeQuantize& quantizer, const ops::FakeQuantize& other);

/// Inserts a quantizer behind every value of `place` (for a weight: in front of `reader`, for it alone) and one
/// observer for them all. The scale has seen nothing yet. Returns one of the quantizers.
ops::FakeQuantize insert_quantizer(Model& model, const Platform& platform, const QuantizerPlace& place, Op reader = {});

/// Gives a quantizer (and whatever shares its scale) another width: codes, observer, learned or observed scale. The
/// scale and zero point are derived anew from the range that the observer has seen.
void set_quantizer_bits(Model& model, const Platform& platform, const ops::FakeQuantize& quantizer, int bits);

/// A feature quantizer's range for good: its observer leaves it as it is.
void fix_range(Model& model, const ops::FakeQuantize& quantizer, float low, float high);

/// Ranges, one for each of its scales, in place of what the observer has seen; scales and zero points are those of
/// them.
void set_ranges(Model& model, const ops::ObserveRange& observer, std::span<const float> low,
                std::span<const float> high);

/// Whether it came with the network, and not from samples: calibration leaves it as it is.
bool is_fixed(const ops::ObserveRange& observer);

/// Observers have seen nothing any more, but those of fixed ranges: what calibration finds then depends on nothing
/// before it.
void forget_ranges(Model& model);

/// Width in bits of a quantizer's codes.
int bits_of(const ops::FakeQuantize& quantizer);

/// The scale that the quantizer applies, of a channel: the tensor's contents, rounded where it is a learned power of
/// two.
float effective_scale(const Model& model, const ops::FakeQuantize& quantizer, size_t channel = 0);

/// The observer of a quantizer's scale; throws for a network that prepare has not made.
ops::ObserveRange observer_of(const ops::FakeQuantize& quantizer);

/// Whether what is quantized is the weight of an operation, and not a feature.
bool is_weight(const ops::FakeQuantize& quantizer);

/// Whether the scale is a parameter.
bool is_learned(const ops::FakeQuantize& quantizer);

}  // namespace halfstep::quant
