// Rebuilding a network on codes, step by step: what training and conversion do alike. docs/arithmetic.md, section 5.
#pragma once

#include <map>
#include <string>

#include "halfstep/core/ir/model.h"
#include "halfstep/passes/quantized/quantized_steps.h"

namespace halfstep::passes {

/// The network in the making. A value of the source has codes there, or stays real, or has both once somebody reads its
/// codes as reals. What codes are read with, and how accumulators become codes, is for those who derive from it.
class CodedRebuild {
 protected:
  explicit CodedRebuild(const Model& source);
  virtual ~CodedRebuild() = default;

  Graph& graph() { return result_.graph; }
  /// The codes of a value of the source, which has some.
  Value codes(Value old) const { return codes_.at(old.node()); }
  bool has_codes(Value old) const { return codes_.contains(old.node()); }
  void set_codes(Value old, Value codes) { codes_[old.node()] = codes; }
  void set_real(Value old, Value real) { reals_[old.node()] = real; }

  /// A value as an operator on reals reads it: codes are dequantized, once.
  Value real(Value old);
  /// An operator that only moves codes, on codes: its result is read as its first operand is.
  void rebuild_move(const QuantizedStep& step);
  /// An operator on reals in the new network; its regions are rebuilt as this network is.
  Op copied(Op op);
  /// An operator that stays in float, as it is.
  void rebuild_real(Op op);
  /// Outputs under their names, and extents as they were.
  void finish_network();

  const Model& source_;
  Model result_;
  Builder builder_{result_.graph};

 private:
  void rebuild_regions(Op from, Op to);
  /// The tensor of that name where it holds the same: the name may be that of codes which are made of a layer's weight.
  Value known(Value tensor, const Tensor& contents);
  virtual Model rebuilt(const Model& region) = 0;
  /// What the new network has for a value that has no codes: an argument, a tensor, what is computed of tensors alone.
  virtual Value real_of_source(Value old) = 0;
  virtual Value dequantize(Value old, const std::string& name) = 0;
  /// What fills empty places among the codes of `source`: the code of `fill`, or of 0 where it is null.
  virtual Value code_of_fill(Value fill, Value source, const std::string& name) = 0;
  /// `moved` has the codes of `source` in other places.
  virtual void read_alike(Value moved, Value source) = 0;

  std::map<const detail::ValueNode*, Value> codes_, reals_;
};

/// The quantizer whose codes `value` has.
ops::FakeQuantize quantizer_of(Value value);

}  // namespace halfstep::passes
