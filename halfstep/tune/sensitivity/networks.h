// A prepared network with some of its quantizers, in float arithmetic.
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

  /// Of features that a run computes, and not of a weight or a constant.
  bool is_computed() const { return !quantizer.x().is_tensor(); }
  const std::string& name() const { return quantizer.name(); }
  /// What comes to it in the float network.
  const std::string& value() const { return quantizer.x().name(); }
};

/// Whether the quantizer of that name is in a form of the network.
using Stays = std::function<bool(const std::string& quantizer)>;

/// A prepared network, or a part of one, with those of its quantizers alone that `stays` says.
Model rounding(const Model& closed, const Stays& stays);

/// A prepared network with what it learned settled, and its quantizers in the order of the graph, those in branches and
/// loops too.
class FloatNetwork {
 public:
  explicit FloatNetwork(const Model& prepared);
  FloatNetwork(const FloatNetwork&) = delete;
  FloatNetwork& operator=(const FloatNetwork&) = delete;

  const Model& prepared() const { return closed_; }
  const std::vector<Place>& places() const { return places_; }
  /// The network with those quantizers alone that `stays` says, each a float operator that rounds: a float network.
  Model with(const Stays& stays) const { return rounding(closed_, stays); }
  /// What is computed of the values `given` (of prepared(), which become arguments under their names, behind the
  /// network's own) up to `wanted`, or where that is empty up to the network's outputs; for `rounding`.
  Model part(const std::vector<std::string>& given, const std::vector<std::string>& wanted) const;
  /// The network without quantizers.
  Model in_float() const;
  Rounder rounder(const Place& place) const { return Rounder(closed_, place.quantizer, place.kind); }

 private:
  Model closed_;
  std::vector<Place> places_;
};

}  // namespace halfstep::sensitivity
