// What the methods read of a network: its layers with weights, its forms, what its channels do.
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

/// The network in float arithmetic with the rounding of its quantizers: every value can be fetched by its name.
Model simulated(const Model& prepared);

/// An operator whose weight is a tensor, read by nothing else.
struct Layer {
  Op op;
  Value weight;                 ///< the tensor
  Value bias;                   ///< null where there is none, or another operator reads it
  ops::FakeQuantize quantizer;  ///< of the weight; null where the layer is in float
};

/// What `value` is without its quantizer, if it has one.
Value in_float(Value value);

/// Those of the network's body, in its order: what is computed in branches and loops cannot be fetched by its name.
std::vector<Layer> layers_of(const Model& prepared);

/// Layers that are corrected through their biases: quantized ones that have one.
std::vector<Layer> layers_with_bias(const Model& prepared);

/// "; left out: a, b (no bias)": layers on codes that are not corrected, with the reason, those in branches and loops
/// too; "" where there are none.
std::string left_out(const Model& prepared);

/// "; left out: what is inside of scan 'cell', while 'loop'": operations of the body that hold quantizers; "" for none.
std::string left_inside(const Model& prepared);

/// Where a layer's weights are made of others (batch norms kept for training; kinds of quantizers that make weights
/// anew), why nobody may write over them; "" where they are their own.
std::string why_weights_stay(const Model& prepared);

/// The contents of a tensor, which other Models may share, as the Model's own.
std::span<float> own_floats(Model& model, const std::string& tensor);

/// Of the values along one axis, by position there.
struct Moments {
  std::vector<double> mean, variance, largest;  ///< largest: of magnitudes
};

/// A value whose channels lie along an axis.
struct Watched {
  std::string value;
  size_t axis = 1;
};

/// Moments of values over all samples, by name; sums in float64 in a fixed order. Throws, naming the value, where one
/// is NaN or infinite.
std::map<std::string, Moments> moments_of(const Model& model, const std::vector<Watched>& values,
                                          const data::Samples& samples, ThreadPool& pool);

}  // namespace halfstep::repair
