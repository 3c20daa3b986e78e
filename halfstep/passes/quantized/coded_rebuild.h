// Rebuilds a network on codes, step by step. Shared by training and conversion. See docs/arithmetic.md, section 5.
#pragma once

#include <map>
#include <string>

#include "halfstep/core/ir/model.h"
#include "halfstep/passes/quantized/quantized_steps.h"

namespace halfstep::passes {

/// The network under construction. A value of the source has codes, a real value, or both once an operator reads its
/// codes as real values. Derived classes define how codes are read and how accumulators become codes.
class CodedRebuild {
 protected:
  explicit CodedRebuild(const Model& source);
  virtual ~CodedRebuild() = default;

  Graph& graph() { return result_.graph; }
  /// Returns the codes of a source value that has codes.
  Value codes(Value old) const { return codes_.at(old.node()); }
  bool has_codes(Value old) const { return codes_.contains(old.node()); }
  void set_codes(Value old, Value codes) { codes_[old.node()] = codes; }
  void set_real(Value old, Value real) { floats_[old.node()] = real; }

  /// Returns a value for an operator on real values. Codes are dequantized once.
  Value real(Value old);
  /// Rebuilds an operator that only moves codes or finds their positions. Moved codes have the scale and zero point of
  /// its first operand.
  void rebuild_move(const QuantizedStep& step);
  /// Copies an operator on real values into the new network. Its regions are rebuilt like this network.
  Op copied(Op op);
  /// Copies an operator that stays in float.
  void rebuild_real(Op op);
  /// Adds outputs under their names and restores extents.
  void finish_network();

  const Model& source_;
  Model result_;
  Builder builder_{result_.graph};

 private:
  void rebuild_regions(Op from, Op to);
  /// Returns the tensor of that name if it has the same contents. Codes of a layer's weight may already use the name.
  Value known(Value tensor, const Tensor& contents);
  virtual Model rebuilt(const Model& region) = 0;
  /// Returns the new value of a source value without codes: an argument, a tensor, or a value computed from tensors
  /// only.
  virtual Value real_of_source(Value old) = 0;
  virtual Value dequantize(Value old, const std::string& name) = 0;
  /// Returns the fill value for empty places among the codes of `source`: the code of `fill`, or of 0 if it is null.
  virtual Value code_of_fill(Value fill, Value source, const std::string& name) = 0;
  /// Records that `moved` has the codes of `source` in other places.
  virtual void read_alike(Value moved, Value source) = 0;

  std::map<const detail::ValueNode*, Value> codes_, floats_;
};

/// Returns the quantizer that produced the codes of `value`.
ops::FakeQuantize quantizer_of(Value value);

}  // namespace halfstep::passes
