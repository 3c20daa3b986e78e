// Which operators of a network compute indices, masks and sizes, and not activations. docs/design/index_arithmetic.md
#pragma once

#include <set>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Whether an operator reads the elements of an operand, and not its extents alone.
bool reads_elements(Op op, int operand);

/// The index arithmetic of a graph, at any stage: float, prepared or integer. A float value is an *activation* where it
/// depends on a layer with weights, or on codes, through float values alone; a rounding (floor, ceil, round, sign) and
/// an integer or boolean end that. A float value is *data* where an operator that gives an activation reads it, or one
/// that gives data, where it is an output of the network, or where it crosses the border of a region. An operator is
/// index arithmetic where none of its results is an activation or data; and where index arithmetic reads a result that
/// is data too, but depends on no float input.
class IndexArithmetic {
 public:
  explicit IndexArithmetic(const Graph& graph);

  bool contains(Op op) const { return ops_.contains(op.node()); }
  bool is_activation(Value value) const { return activations_.contains(value.node()); }
  /// Index arithmetic that reads the elements of no activation: it computes the same in every program.
  bool is_exact(Op op) const;

 private:
  void find_activations(const Block& block);
  void find_data(const Block& block);
  /// Whether an operand whose elements the operator reads is one of `values`.
  bool reads(Op op, const std::set<const detail::ValueNode*>& values) const;
  bool gives_activations(Op op) const;
  bool is_stored(Value value) const;
  bool computes_with_weights(Op op) const;
  /// Whether the use of a float value needs it as data.
  bool is_data_of(Op user, int operand) const;
  bool gives_data(Op op) const;
  bool is_index(Op op) const;

  std::set<const detail::OpNode*> ops_;
  std::set<const detail::ValueNode*> activations_, from_inputs_, data_, stored_;
};

}  // namespace halfstep::passes
