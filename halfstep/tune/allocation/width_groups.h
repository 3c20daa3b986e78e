// Describes a prepared network for the search: groups of tensors with a common bit width, and the layers in which they
// meet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/quant/prepare/layer_bits.h"

namespace halfstep::allocation {

/// Quantizers with a shared scale, which have one bit width.
struct Group {
  std::string scale;          ///< name of the scale tensor
  std::string tensor, layer;  ///< the quantized tensor, and the operation that computes or reads it, by their names in
                              ///< audits
  std::vector<std::string> quantizers;  ///< names of the quantizers
  bool is_weight = false;
  int now = 8;
  std::vector<int> bit_widths;  ///< legal bit widths, ascending, or a single one if there is no choice
};

/// An operation on codes.
struct Layer {
  std::string name, op;
  int weight = -1;  ///< group of the weight, or -1
  int reads = -1;   ///< group of the first input, -1 without one
  int64_t weight_elements = 0;
  double multiplications = 0;  ///< for one sample, 0 without weights
};

/// A combination that no layer may have: pairs of group and bit width.
using Clash = std::vector<std::pair<int, int>>;

/// A bit width for each group.
using Assignment = std::vector<int>;

struct Layout {
  std::vector<Group> groups;
  std::vector<Layer> layers;
  std::vector<Clash> clashes;

  Assignment now() const;
  quant::BitWidths bit_widths(const Assignment& assignment) const;
};

/// The layout of a network without dynamic dimensions. Contains every bit width and every combination that the platform
/// allows. First and last layers with their own bit widths keep these, unless `with_edges`.
Layout layout_of(const Model& prepared, bool with_edges);

}  // namespace halfstep::allocation
