// Convolutions padded with channels of zeros, for chips that take channels in multiples.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// A convolution of more than `above` input channels takes and gives multiples of `multiple`.
struct ChannelRule {
  int64_t multiple = 1, above = 0;
};

/// Whether `op` is a convolution whose channels are not what the rule asks for.
bool misses_channels(Op op, const ChannelRule& rule);

/// Whether zeros make a convolution's channels what the rule asks for: not where groups of several channels would have
/// to grow.
bool can_pad_channels(Op op, const ChannelRule& rule);

/// Gives the convolutions of these names, for which can_pad_channels holds, channels of zeros up to the next multiples.
/// What lies between two of them is widened with them where it maps zeros to zeros channel by channel (activations
/// through 0, pools, normalizations, sums and products, also with stored numbers by channel, which become the tensor
/// NAME.padded, convolutions in front), and where it is a factor of such a product, as in x * sigmoid(x), whatever the
/// factor is there; elsewhere a pad or slice stands between. Arguments and outputs stay, and so do all numbers but for
/// the order in which a kernel adds. Tensors keep their names where nothing else reads them. Returns the convolutions
/// that have more channels now, those in front included. Throws unsupported for a weight that is computed.
std::vector<std::string> pad_channels(Model& model, const ChannelRule& rule, const std::set<std::string>& layers);

}  // namespace halfstep::passes
