// A prepared network as a question: which tensors have one width together, and which layers they meet in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/quant/prepare/widths.h"

namespace halfstep::allocation {

/// What has one width: quantizers under one scale.
struct Group {
  std::string scale;                    ///< its tensor
  std::string tensor, layer;            ///< what is quantized, and what gives or reads it, as audits have them
  std::vector<std::string> quantizers;  ///< by name
  bool is_weight = false;
  int now = 8;
  std::vector<int> widths;  ///< that it may have, ascending; one where it is not to be chosen
};

/// An operation on codes.
struct Layer {
  std::string name, op;
  int weight = -1;  ///< its group, or -1
  int reads = -1;   ///< group of the first value that it reads; -1: none
  int64_t weight_elements = 0;
  double multiplications = 0;  ///< of one sample; 0 without weights
};

/// Widths that no layer may have together: pairs of a group and a width.
using Clash = std::vector<std::pair<int, int>>;

/// A width for each group.
using Assignment = std::vector<int>;

struct Layout {
  std::vector<Group> groups;
  std::vector<Layer> layers;
  std::vector<Clash> clashes;

  Assignment now() const;
  quant::Widths widths(const Assignment& assignment) const;
};

/// Of a network whose extents are all known. Every width that the platform's record allows, in every combination that
/// it allows. The first and last layers keep theirs where they have their own, unless `with_edges`.
Layout layout_of(const Model& prepared, bool with_edges);

}  // namespace halfstep::allocation
