// Reads properties of a network for the methods: layers with weights, simulated forms, moments of channels.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"

namespace halfstep::repair {

/// The network in float arithmetic, with quantizers that round. Every value can be fetched by its name.
Model simulated(const Model& prepared);

/// An operator with a weight tensor that only this operator reads.
struct Layer {
  Op op;
  Value weight;                 ///< the weight tensor, without its quantizer
  Value bias;                   ///< null if absent, or if another operator reads it too
  ops::FakeQuantize quantizer;  ///< quantizer of the weight, null in a float layer
};

/// `value` before its quantizer, or `value` itself without one.
Value in_float(Value value);

/// Layers of the network's body, in its order. Excludes branches and loops, because their values cannot be fetched by
/// name.
std::vector<Layer> layers_of(const Model& prepared);

/// Quantized layers with a bias, which can be corrected.
std::vector<Layer> layers_with_bias(const Model& prepared);

/// "; left out: a, b (no bias)": layers on codes that are not corrected, with the reason. Includes layers in branches
/// and loops. "" if there are none.
std::string left_out(const Model& prepared);

/// "; left out: layers inside scan 'cell', while 'loop'": operations of the body that contain quantizers, "" if
/// none.
std::string left_inside(const Model& prepared);

/// The reason why a method must not overwrite weights, "" if it may. Weights are computed from other tensors if batch
/// norms are kept for training, or for some kinds of quantizers.
std::string why_weights_stay(const Model& prepared);

/// The contents of a tensor for writing. Copies it first if other Models share it.
std::span<float> own_floats(Model& model, const std::string& tensor);

/// Moments of the values along one axis, by index on that axis.
struct Moments {
  std::vector<double> mean, variance, largest;  ///< largest: largest magnitude
};

/// A value and its channel axis.
struct Watched {
  std::string value;
  size_t axis = 1;
};

/// Moments of values over all samples, by name. Sums are float64 in a fixed order. Throws if a value is NaN or
/// infinite, and names it.
std::map<std::string, Moments> moments_of(const Model& model, const std::vector<Watched>& values,
                                          const data::Samples& samples, ThreadPool& pool);

}  // namespace halfstep::repair
