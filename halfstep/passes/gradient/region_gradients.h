// Shared parts of gradients of branches and loops: regions as networks that are differentiated and become regions of
// another operation.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/passes/gradient/autodiff.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {

/// A region as a separate network.
struct RegionNetwork {
  Model model;
  std::vector<Value> arguments;  ///< arguments of the region, before added ones
  std::vector<Value> handed;     ///< updated tensors of the region, in the order of FlowOperation::handed
  std::vector<Value> finals;     ///< final contents of `handed`
  std::vector<Value> outputs;    ///< outputs of the region
  std::map<const detail::ValueNode*, Value> gradients;  ///< by the value that they belong to

  Graph& graph() { return model.graph; }
  /// Returns the tensor of the enclosing network. Declares it if the region does not read it.
  Value tensor(Value outside);
  Value add_gradient(Value of, const Type& type);
  Value gradient_of(Value value) const;
  /// Returns the gradient of the value, or zeros if there is none.
  Value gradient_or_zeros(Value value);
  Builder builder() { return Builder(graph()); }
};

/// Returns zeros named VALUE.zeros.
Value zeros_like(Builder& builder, Value value);

/// A tensor that any operation updates, and its contents when the regions first run.
struct Handed {
  Value tensor, contents;
};

/// An operation with regions whose gradients are wanted.
class FlowOperation {
 public:
  /// See flow_gradients.
  FlowOperation(Model& model, Builder& builder, Op op, const std::vector<Value>& out_grads, const ValueSet& wanted);

  bool is_wanted(Value value) const { return depends_.contains(value.node()); }

  Value operand(size_t value) const { return operands[parts.first + value]; }
  /// Returns the contents of the handed tensors.
  std::vector<Value> contents() const;

  RegionNetwork network(size_t region) const;
  /// Throws an Error whose diagnostics name the path to the operations of regions.
  void differentiate(RegionNetwork& network, const std::vector<Seed>& seeds, const std::vector<Value>& of) const;

  /// Inserts an operation to which regions are added.
  Op insert(const OpInfo& info, std::vector<Value> operands, Attributes attributes = {}) const;
  /// Builds the next region of `made`. Its arguments are named like `arguments` of the network, and it returns
  /// `outputs`.
  void add_region(Op made, RegionNetwork& network, const std::vector<Value>& arguments,
                  const std::vector<Value>& outputs) const;

  Model& model;
  Builder& builder;
  const Op op;
  const FlowParts parts;
  const std::vector<Value> operands;
  const std::vector<Value>& out_grads;  ///< by result, where a null value means zero
  std::set<size_t> wanted;              ///< indices of values among the operands
  std::vector<Value> tensors;           ///< tensors that are wanted and read in regions

  const std::vector<Handed> handed;

 private:
  const ValueSet& depends_;
};

}  // namespace halfstep::passes
