// Channels that may be scaled: one layer gives them, others read them, and what lies between keeps a factor.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::repair {

/// A tensor whose first axis is the channels, and its bias.
struct Giver {
  std::string layer, weight;
  std::string bias;  ///< "": none
};

/// A weight [outputs, inputs / groups, ...] of a layer that reads them, `run` neighbouring inputs to a channel.
struct Reader {
  std::string layer, weight;
  int64_t groups = 1, run = 1;
  std::string features;  ///< the value that the layer reads, in float
  size_t axis = 1;       ///< of that value's channels
  int64_t channel_of(int64_t output, int64_t outputs, int64_t input, int64_t inputs) const {
    return (output / (outputs / groups) * inputs + input) / run;
  }
};

/// Channels whose givers may be multiplied and whose readers divided by a positive factor for each.
struct ChannelGroup {
  int64_t channels = 0;
  std::vector<Giver> givers;
  std::vector<Reader> readers;
};

/// In the order of the graph. Elements that keep a positive factor tie what goes in to what comes out: quantizers
/// (whose scales are calibrated again afterwards), relu, leaky_relu, pools, sums, means over places, reshapes that
/// leave channels together. Where anything else reads or gives a value, its channels are in no group; what goes into a
/// branch or a loop and comes out of it is in none.
std::vector<ChannelGroup> channel_groups(const Model& prepared);
/// The same, and behind them those inside of branches and loops.
std::vector<ChannelGroup> channel_groups_of_all(const Model& prepared);

/// Multiplies givers and divides readers. Powers of two leave the float function as it is, to the bit, as long as
/// nothing underflows.
void scale_channels(Model& model, const ChannelGroup& group, const std::vector<float>& factors);

/// The largest magnitude of each channel's weights on either side.
std::vector<double> given_magnitudes(const Model& model, const ChannelGroup& group);
std::vector<double> read_magnitudes(const Model& model, const ChannelGroup& group);

}  // namespace halfstep::repair
