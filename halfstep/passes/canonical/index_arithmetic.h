// Finds operators that compute indices, masks and sizes instead of activations. See docs/design/index_arithmetic.md.
#pragma once

#include <set>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Whether an operator reads the elements of an operand, and not only its extents.
bool reads_elements(Op op, int operand);

/// Index arithmetic of a graph at any stage: float, prepared or integer.
/// - A float value is an *activation* if it depends on a layer with weights, or on codes, through float values only. A
///   rounding (floor, ceil, round, sign) or an integer or boolean value ends that dependence.
/// - A float value is *data* if it is an output of the network or crosses the border of a region. It is also data if it
///   is read by an operator that produces an activation or data.
/// - A value is *counted* if it is computed from positions along an axis and from stored numbers.
/// - An operator is index arithmetic if none of its results is an activation or data, or if its results are counted. It
///   is also index arithmetic if its result is data that depends on no float input, and other index arithmetic reads it
///   or it is a mask without the elements that hide others.
class IndexArithmetic {
 public:
  explicit IndexArithmetic(const Graph& graph);

  bool contains(Op op) const { return ops_.contains(op.node()); }
  bool is_activation(Value value) const { return activations_.contains(value.node()); }
  /// Whether the operator is index arithmetic that reads no elements of an activation. It then computes the same
  /// results in every program.
  bool is_exact(Op op) const;

 private:
  void find_activations(const Block& block);
  void find_data(const Block& block);
  /// Whether the operator reads the elements of any of `values`.
  bool reads(Op op, const std::set<const detail::ValueNode*>& values) const;
  bool gives_activations(Op op) const;
  bool is_stored(Value value) const;
  bool computes_with_weights(Op op) const;
  void find_counted(Op op);
  /// Whether the operand makes a float value data.
  bool is_data_of(Op user, int operand) const;
  bool gives_data(Op op) const;
  bool is_index(Op op) const;

  std::set<const detail::OpNode*> ops_;
  std::set<const detail::ValueNode*> activations_, from_inputs_, data_, stored_, counted_;
  std::set<const detail::ValueNode*> spread_;  ///< stored elements, moved by counted positions
};

}  // namespace halfstep::passes
