// What gradients of branches and of loops have in common: regions as networks that are differentiated and become
// regions of another operation.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/passes/gradient/autodiff.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {

/// A region as a network of its own.
struct RegionNetwork {
  Model model;
  std::vector<Value> arguments;  ///< the region's, in front of those that are added
  std::vector<Value> handed;     ///< its tensors that something updates, in the order of FlowOperation::handed
  std::vector<Value> finals;     ///< what it leaves in these
  std::vector<Value> outputs;    ///< the region's
  std::map<const detail::ValueNode*, Value> gradients;  ///< by what they are of

  Graph& graph() { return model.graph; }
  /// The tensor of the network around, declared where the region does not read it.
  Value tensor(Value outside);
  Value add_gradient(Value of, const Type& type);
  Value gradient_of(Value value) const;
  /// The same, and zeros where there is none.
  Value gradient_or_zeros(Value value);
  Builder builder() { return Builder(graph()); }
};

/// Named VALUE.zeros.
Value zeros_like(Builder& builder, Value value);

/// A tensor that something updates, and the value that is what regions find in it when they first run.
struct Handed {
  Value tensor, contents;
};

/// An operation that holds regions, whose gradients are wanted.
class FlowOperation {
 public:
  /// See flow_gradients.
  FlowOperation(Model& model, Builder& builder, Op op, const std::vector<Value>& out_grads, const ValueSet& wanted);

  bool is_wanted(Value value) const { return depends_.contains(value.node()); }

  Value operand(size_t value) const { return operands[parts.first + value]; }
  /// What the handed tensors are handed as.
  std::vector<Value> contents() const;

  RegionNetwork network(size_t region) const;
  /// Throws a Error whose objections name the path to the operations of regions.
  void differentiate(RegionNetwork& network, const std::vector<Seed>& seeds, const std::vector<Value>& of) const;

  /// An operation to which regions are added.
  Op insert(const OpInfo& info, std::vector<Value> operands, Attributes attributes = {}) const;
  /// Makes the next region of `made`: its arguments are called as these of the network, and it gives `outputs`.
  void add_region(Op made, RegionNetwork& network, const std::vector<Value>& arguments,
                  const std::vector<Value>& outputs) const;

  Model& model;
  Builder& builder;
  const Op op;
  const FlowParts parts;
  const std::vector<Value> operands;
  const std::vector<Value>& out_grads;  ///< by result; null values: zero
  std::set<size_t> wanted;              ///< numbers of values among the operands
  std::vector<Value> tensors;           ///< that are wanted and read in regions

  const std::vector<Handed> handed;

 private:
  const ValueSet& depends_;
};

}  // namespace halfstep::passes
