// Finds channels that can be scaled. One layer computes them, others read them, and all operators between preserve a
// factor.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::repair {

/// A layer that computes channels: a weight tensor whose first axis is the channels, and its bias.
struct Giver {
  std::string layer, weight;
  std::string bias;  ///< "" without a bias
};

/// A layer that reads channels: its weight is [outputs, inputs / groups, ...]. `run` consecutive inputs form one
/// channel.
struct Reader {
  std::string layer, weight;
  int64_t groups = 1, run = 1;
  std::string activations;  ///< input of the layer, before its quantizer
  size_t axis = 1;          ///< channel axis of that input
  int64_t channel_of(int64_t output, int64_t outputs, int64_t input, int64_t inputs) const {
    return (output / (outputs / groups) * inputs + input) / run;
  }
};

/// Channels with a free positive factor: givers are multiplied by it, and readers divided.
struct ChannelGroup {
  int64_t channels = 0;
  std::vector<Giver> givers;
  std::vector<Reader> readers;
};

/// Groups of the network's body, in graph order. Operators that preserve a positive factor connect their inputs and
/// results: quantizers (which must be recalibrated afterwards), relu, leaky_relu, pools, sums, means over positions,
/// and reshapes that keep channels together. A value that any other operator reads or computes has no group. Inputs and
/// results of branches and loops have none either.
std::vector<ChannelGroup> channel_groups(const Model& prepared);
/// Groups as in channel_groups, followed by the groups inside branches and loops.
std::vector<ChannelGroup> channel_groups_of_all(const Model& prepared);

/// Multiplies givers by the factors and divides readers. Powers of two do not change a bit of the float function,
/// unless a value underflows.
void scale_channels(Model& model, const ChannelGroup& group, const std::vector<float>& factors);

/// The largest weight magnitude of each channel, in givers or in readers.
std::vector<double> given_magnitudes(const Model& model, const ChannelGroup& group);
std::vector<double> read_magnitudes(const Model& model, const ChannelGroup& group);

}  // namespace halfstep::repair
