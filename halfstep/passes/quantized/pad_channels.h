// Pads convolutions with channels of zeros, for chips that need multiples of channels.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Rule: a convolution of more than `above` input channels needs multiples of `multiple` as input and output channels.
struct ChannelRule {
  int64_t multiple = 1, above = 0;
};

/// Whether `op` is a convolution whose channels violate the rule.
bool misses_channels(Op op, const ChannelRule& rule);

/// Whether zeros can make the channels of a convolution follow the rule. This is false if groups of several channels
/// would have to grow.
bool can_pad_channels(Op op, const ChannelRule& rule);

/// Pads the convolutions of these names with channels of zeros up to the next multiples. can_pad_channels must hold for
/// each.
/// Operators between two of them are widened too if they map zeros to zeros channel by channel: activations through 0,
/// pools, normalizations, sums and products, and convolutions before them. Stored numbers by channel of sums and
/// products become the tensor NAME.padded. A factor of such a product, as in x * sigmoid(x), is widened with any
/// contents. Elsewhere a pad or slice is inserted.
/// Arguments and outputs stay. Numbers change only by the order in which a kernel adds. Tensors keep their names if
/// nothing else reads them. Returns all convolutions that have more channels now, including those before. Throws
/// unsupported for a computed weight.
std::vector<std::string> pad_channels(Model& model, const ChannelRule& rule, const std::set<std::string>& layers);

}  // namespace halfstep::passes
