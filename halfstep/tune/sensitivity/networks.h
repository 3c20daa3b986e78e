// Forms of a prepared network with some of its quantizers, in float arithmetic.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/tune/sensitivity/rounder.h"

namespace halfstep::sensitivity {

/// One quantizer of the network.
struct Place {
  ops::FakeQuantize quantizer;
  QuantizerKind kind = QuantizerKind::fixed;
  bool is_weight = false;

  /// Whether it quantizes a computed activation, not a weight or a constant.
  bool is_computed() const { return !quantizer.x().is_tensor(); }
  const std::string& name() const { return quantizer.name(); }
  /// Name of the quantizer's input in the float network.
  const std::string& value() const { return quantizer.x().name(); }
};

/// Whether the quantizer with this name is in a form of the network.
using Stays = std::function<bool(const std::string& quantizer)>;

/// A prepared network, or a part of one, with only those quantizers for which `stays` returns true.
Model rounding(const Model& closed, const Stays& stays);

/// A prepared network with final learned values. Lists its quantizers in graph order, including those in branches and
/// loops.
class FloatNetwork {
 public:
  explicit FloatNetwork(const Model& prepared);
  FloatNetwork(const FloatNetwork&) = delete;
  FloatNetwork& operator=(const FloatNetwork&) = delete;

  const Model& prepared() const { return closed_; }
  const std::vector<Place>& places() const { return places_; }
  /// A float network with only those quantizers for which `stays` returns true, each as a float operator that rounds.
  Model with(const Stays& stays) const { return rounding(closed_, stays); }
  /// The part of the network that computes `wanted` from the values `given`, for use with `rounding`. The values of
  /// `given` are from prepared() and become arguments with their names, after the network's own. If `wanted` is empty,
  /// the part computes the network's outputs.
  Model part(const std::vector<std::string>& given, const std::vector<std::string>& wanted) const;
  /// The network without quantizers.
  Model in_float() const;
  Rounder rounder(const Place& place) const { return Rounder(closed_, place.quantizer, place.kind); }

 private:
  Model closed_;
  std::vector<Place> places_;
};

}  // namespace halfstep::sensitivity
