// How much a quantized network may lose, worked out without anything that quantizes: the float network runs operator by
// operator, and each value is rounded to as many steps of its own range as its width has.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "halfstep/core/ir/model.h"

namespace halfstep::fuzz {

/// What the values of a run are rounded to.
struct Grid {
  int weight_bits = 8, activation_bits = 8;
  bool per_channel = true;    ///< each output channel of a weight has a step of its own
  bool power_of_two = false;  ///< steps are powers of two
  double coarseness = 1;      ///< factor of every step of a feature
  bool joins = true;          ///< concatenations have one step with all of their parts
};

class RoundedRun {
 public:
  /// A float network in evaluation form, which must outlive this. Throws Skipped where noise does not simply add up:
  /// for one with branches or iterations, with functions that go in steps, and with places that depend on the inputs.
  explicit RoundedRun(const Model& model);

  /// Exact outputs, by name. Ranges of values grow to what they are here. Throws Skipped where finite numbers give
  /// infinite ones.
  Tensors exact(const Tensors& inputs);
  /// Outputs of values that are rounded to steps of the ranges. `draw` says by how much each step is longer than the
  /// least one, up to one and a half times: draws that agree tell that the noise of the steps simply adds up. Throws
  /// Skipped where a divisor comes from both sides of 0.
  Tensors rounded(const Tensors& inputs, const Grid& grid, uint64_t draw) const;

 private:
  struct Range {
    double low = 0, high = 0;  ///< with 0, which codes stand for exactly
  };
  using Node = const detail::ValueNode*;
  /// Stored numbers that a product reads may be the weights of a layer that scales channels.
  enum class Kind { exact, feature, joined, weight, factor };
  struct Rounding {
    Kind kind = Kind::exact;
    int axis = -1;        ///< of a weight: that of its output channels
    Node like = nullptr;  ///< of a number that stands beside features: the value whose steps it has
  };

  void find_data();
  void require_smooth(const Op& op, size_t operand) const;
  void require_no_poles(const Grid& grid) const;
  void find_weights();
  void find_shared();
  Node owner_of(Node value) const;
  Range range_of(Node value, bool joins) const;
  /// Visits the values of `data_` alone.
  using VisitData = std::function<Tensor(Value, const Tensor&)>;
  Tensors run(const Tensors& inputs, const VisitData& visit) const;

  const Model& model_;
  std::vector<Op> ops_;
  std::set<const detail::ValueNode*> dependent_;  ///< on the contents of the network's inputs
  std::set<const detail::ValueNode*> data_;       ///< floats that outputs are made of, and not only places or extents
  std::map<const detail::ValueNode*, Rounding> roundings_;
  std::map<const detail::ValueNode*, Range> ranges_;
  std::map<Node, Node> shares_with_;  ///< one of those that a value shares its step with, where it has none of its own
};

}  // namespace halfstep::fuzz
