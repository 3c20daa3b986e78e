// Estimates the loss by quantization without using quantization code. It runs the float network operator by operator,
// and rounds each value to the number of steps of its own range that the bit width allows.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "halfstep/core/ir/model.h"

namespace halfstep::fuzz {

/// Rounding of the values of a run.
struct Grid {
  int weight_bits = 8, activation_bits = 8;
  bool per_channel = true;    ///< each output channel of a weight has its own step
  bool power_of_two = false;  ///< steps are powers of two
  double coarseness = 1;      ///< factor of every step of an activation
  bool joins = true;          ///< concatenations and all of their parts share one step
};

class RoundedRun {
 public:
  /// `model` is a float network in evaluation form and must outlive this object. Throws Skipped if noise is not
  /// additive: with branches or loops, with step functions, and with positions that depend on the inputs.
  explicit RoundedRun(const Model& model);

  /// Exact outputs by name. Ranges are widened to include all values. Throws Skipped if finite numbers have infinite
  /// results.
  Tensors exact(const Tensors& inputs);
  /// Outputs with all values rounded to steps of the ranges. `draw` determines how much longer than minimal each step
  /// is, up to 1.5 times. If draws agree, the noise of the steps is additive. Throws Skipped if a divisor has both
  /// signs.
  Tensors rounded(const Tensors& inputs, const Grid& grid, uint64_t draw) const;

 private:
  struct Range {
    double low = 0, high = 0;  ///< always include 0, which codes represent exactly
  };
  using Node = const detail::ValueNode*;
  /// A stored operand of a product may be the weights of a layer that scales channels.
  enum class Kind { exact, activation, joined, weight, factor };
  struct Rounding {
    Kind kind = Kind::exact;
    int axis = -1;        ///< axis of the output channels, for a weight
    Node like = nullptr;  ///< for a constant operand of activations: the value whose steps it has
  };

  void find_data();
  void require_smooth(const Op& op, size_t operand) const;
  void require_no_poles(const Grid& grid) const;
  void find_weights();
  void find_shared();
  Node owner_of(Node value) const;
  Range range_of(Node value, bool joins) const;
  /// Visits only the values in `data_`.
  using VisitData = std::function<Tensor(Value, const Tensor&)>;
  Tensors run(const Tensors& inputs, const VisitData& visit) const;

  const Model& model_;
  std::vector<Op> ops_;
  std::set<const detail::ValueNode*> dependent_;  ///< values that depend on the contents of the network's inputs
  std::set<const detail::ValueNode*> data_;       ///< floats that contribute to outputs, and not only to positions or
                                                  ///< extents
  std::map<const detail::ValueNode*, Rounding> roundings_;
  std::map<const detail::ValueNode*, Range> ranges_;
  std::map<Node, Node> shares_with_;  ///< for a value without a step of its own: a value that it shares a step with
};

}  // namespace halfstep::fuzz
