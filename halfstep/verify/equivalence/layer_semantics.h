// The semantic check of one layer of an integer program. It computes the part of the source model between the nearest
// values that the program has too. Internal to halfstep/verify/equivalence.
#pragma once

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "halfstep/verify/equivalence/code_bound.h"
#include "halfstep/verify/equivalence/codings.h"
#include "halfstep/verify/equivalence/layer_weights.h"
#include "halfstep/verify/equivalence/real_values.h"
#include "halfstep/verify/equivalence/semantics.h"

namespace halfstep::verify {

/// Values of one run of the program.
struct Run {
  std::vector<Numbers> values;      ///< by coding
  std::map<size_t, Numbers> masks;  ///< by coding: float values of hiding elements, the other elements as coded
  std::map<std::string, Numbers> arguments;  ///< by name
  int64_t first_sample = 0, samples = 1;
  bool whole = false;  ///< the whole tensors are one sample

  /// The numbers that the source model reads for this coding.
  const Numbers* read(size_t coding) const {
    const auto mask = masks.find(coding);
    return mask == masks.end() ? &values[coding] : &mask->second;
  }
};

/// Graphs and codings that all layer checks share.
struct SemanticGraphs {
  Model prepared, integer, source;  ///< specialized to the shapes of the run
  std::vector<Coding> codings = {};
  /// Whether a check covers each coding. A coding without a value in the source model can be covered by another layer's
  /// check, together with the operators that move its codes.
  std::vector<bool> covered = {};
};

/// Compares one code of the program with the code of `steps`. A difference is a near tie if the code is within 1/2 +
/// bound(saturated steps) of the saturated steps plus `middle`. Otherwise it is out of tolerance.
template <class Bound, class MakeFault>
void compare_code(Semantics& semantics, const CodeFormat& format, double steps, double middle, int64_t found,
                  Bound bound, MakeFault make_fault) {
  ++semantics.compared;
  const int64_t expected = format.code(steps + middle);
  if (found == expected) return;
  const auto zero = static_cast<double>(format.zero_point);
  const double saturated =
      std::clamp(steps, static_cast<double>(format.code_min) - zero, static_cast<double>(format.code_max) - zero);
  semantics.largest = std::max(semantics.largest, std::abs(found - expected));
  // always false for NaN
  if (std::fabs(static_cast<double>(found) - zero - saturated - middle) <= 0.5 + bound(saturated)) {
    ++semantics.near_ties;
    return;
  }
  ++semantics.beyond;
  if (semantics.first) return;
  semantics.first = make_fault();
  semantics.first->found = found;
  semantics.first->expected = expected;
}

/// Operations from a product, or after the input of a layer without one. Each reads the result of the previous one.
struct Path {
  Op product;
  std::vector<Op> behind;
};

/// The network against which a layer is checked.
enum class Reference {
  source,   ///< the source model, from the nearest values that the program has too
  prepared  ///< one operator of the prepared network without quantizers, for values that rewriting created
};

/// The reference of codings[place]. It is `prepared` in these cases:
///
/// - The source model does not have the value.
/// - It does not have a value inside the layer that has codes. Examples are the mean of a sum over axes, and the rows
/// of
///   an instance norm before their factors.
/// - The layer reads a float value that the source model does not have, directly or through such values. The weights
///   after this float value then differ from those of the source model.
Reference reference_of(const std::vector<Coding>& codings, size_t place);

/// The semantic check of codings[place].
class LayerSemanticCheck {
 public:
  /// Keeps a reference to `graphs`, and marks the covered codings there.
  LayerSemanticCheck(SemanticGraphs& graphs, size_t place, Reference reference);

  const std::string& name() const { return coding().layer; }
  void check_weights();
  /// Checks elements of every sample of the run: all, or a random selection.
  void check(const Run& run, bool all, const SemanticOptions& options);
  const Semantics& result() const { return semantics_; }

 private:
  const Coding& coding() const { return graphs_.codings[place_]; }
  const Model& network() const { return reference_ == Reference::source ? graphs_.source : graphs_.prepared; }
  /// The value in the reference network, null if it does not have it.
  Value value_of(const Coding& coding) const {
    return reference_ == Reference::source ? coding.source : coding.prepared;
  }
  /// Whether the part is computed inside the layer, because the reference network does not have its value.
  bool belongs(const Coding& part) const { return !value_of(part) && !part.real && !part.positions; }
  /// The operator of `network()` with the layer's name. It is before a fused activation function.
  Op arithmetic() const;
  void add_part(const Coding& part);
  void add_parts_behind(const Coding& part);
  void weigh(const Coding& part, LayerWeights weights);
  WeighedLayer weighed_product(const Path& path, const LayerWeights& weights);
  WeighedLayer scaled_channels(const Path& path, const Coding& part, const LayerWeights& weights);
  std::set<const detail::ValueNode*> values_read_by(const Coding& part) const;
  const Numbers* read_by(const Coding& part, Value value, const Run& run) const;
  const Numbers* known(Value value, const Run& run) const;
  const Numbers* known_of_source(Value value, const Run& run) const;
  const Numbers* known_of_prepared(Value value, const Run& run) const;
  void compare(const Run& run, const std::vector<int64_t>& indices);
  SemanticFault activation_fault(const Run& run, int64_t index, double real) const;
  std::string says() const;

  SemanticGraphs& graphs_;
  size_t place_;
  Reference reference_;
  Value out_;
  size_t axis_ = 1;  ///< axis of channels
  RealValues values_;
  CodeBound bound_;
  std::optional<LayerWeights> weights_;
  Op product_;  ///< product in the reference network, or the first operator of a layer that only scales channels
  Semantics semantics_;
};

}  // namespace halfstep::verify
