// One quantizer of a prepared network: its bit width, its tensors and its observer.
#pragma once

#include <span>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/quant/platform/platform.h"

namespace halfstep::quant {

/// Position and properties of a quantizer to insert.
struct QuantizerPlace {
  std::vector<Value> values;  ///< one value, or several that share a scale (activations only)
  std::string name;           ///< its tensors are NAME.scale, NAME.zero_point, NAME.low, NAME.high
  int weight_axis = -1;       ///< axis of output channels, -1 for activations
  int bits = 8;
  bool is_unsigned =
      false;  ///< activation on a target with signed activations: codes from 0, zero point 0 if no value is negative
  std::vector<Value> also_seen = {};  ///< tensors that the observer also reads, without a quantizer
  bool sees_also_alone = false;       ///< the observer reads only also_seen: other elements are never read as codes
  bool is_first_or_last = false;      ///< at the first or last layer, with its own bit width
  double reach = 0;  ///< elements further than this below the maximum of their row are ignored, 0: no limit
};

/// Inserts a quantizer after an activation with the tensors and attributes of `other`, because both have the same
/// codes.
void insert_alike(Model& model, Value value, const ops::FakeQuantize& other);

/// Makes all quantizers in the scale group of `quantizer` use the tensors and attributes of `other`. Removes their
/// observer.
void take_codes_of(Model& model, const ops::FakeQuantize& quantizer, const ops::FakeQuantize& other);

/// Inserts a quantizer after every value of `place`, and one observer for all of them. The quantizer of a weight
/// applies to `reader` only. The range is not observed yet. Returns one of the quantizers.
ops::FakeQuantize insert_quantizer(Model& model, const Platform& platform, const QuantizerPlace& place, Op reader = {});

/// Changes the bit width of a quantizer and its shared scale group: codes, observer, and learned or observed scale.
/// Scale and zero point are recomputed from the observed range.
void set_quantizer_bits(Model& model, const Platform& platform, const ops::FakeQuantize& quantizer, int bits);

/// Fixes the range of a quantizer, by channel. Its observer no longer changes it.
void fix_range(Model& model, const ops::FakeQuantize& quantizer, std::span<const float> low,
               std::span<const float> high);
/// Fixes the range of a quantizer with one scale.
void fix_range(Model& model, const ops::FakeQuantize& quantizer, float low, float high);

/// Replaces the observed ranges, one for each scale. Recomputes scales and zero points.
void set_ranges(Model& model, const ops::ObserveRange& observer, std::span<const float> low,
                std::span<const float> high);

/// Whether the range came with the source model. Calibration does not change such a range.
bool is_fixed(const ops::ObserveRange& observer);

/// Clears the state of all observers without a fixed range, so that calibration does not depend on earlier runs.
void forget_ranges(Model& model);

/// Bit width of a quantizer's codes.
int bits_of(const ops::FakeQuantize& quantizer);

/// The scale that the quantizer applies to a channel. A learned power-of-two scale is rounded, any other scale is the
/// tensor's element.
float effective_scale(const Model& model, const ops::FakeQuantize& quantizer, size_t channel = 0);

/// The observer of a quantizer's scale. Throws for a network without observers, which `prepare` did not create.
ops::ObserveRange observer_of(const ops::FakeQuantize& quantizer);

/// Whether the quantizer is for the weight of an operation, not for an activation.
bool is_weight(const ops::FakeQuantize& quantizer);

/// Whether the scale is a learned parameter.
bool is_learned(const ops::FakeQuantize& quantizer);

}  // namespace halfstep::quant
