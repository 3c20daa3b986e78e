// One layer of an integer program and what it means: the part of the network that came in between the nearest values
// that the program has. Internal to this room.
#pragma once

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "halfstep/verify/equivalence/code_bound.h"
#include "halfstep/verify/equivalence/codings.h"
#include "halfstep/verify/equivalence/layer_weights.h"
#include "halfstep/verify/equivalence/meaning.h"
#include "halfstep/verify/equivalence/real_values.h"

namespace halfstep::verify {

/// A run of the program.
struct Run {
  std::vector<Numbers> values;               ///< by coding
  std::map<size_t, Numbers> masks;           ///< of codings of reals that hide: those as they are, the rest as coded
  std::map<std::string, Numbers> arguments;  ///< by name
  int64_t first_sample = 0, samples = 1;
  bool whole = false;  ///< all is one sample

  /// What the network that came in reads there.
  const Numbers* read(size_t coding) const {
    const auto mask = masks.find(coding);
    return mask == masks.end() ? &values[coding] : &mask->second;
  }
};

/// What all layers share.
struct MeaningGraphs {
  Model prepared;  ///< with the extents of the run, as `source`
  const Model& integer;
  Model source;
  std::vector<Coding> codings = {};
  /// Whether each coding is checked: one whose value the source lacks may be, with what moves its codes.
  std::vector<bool> covered = {};
};

/// Counts a code of the program beside that of `steps`, from which, saturated to what has codes and moved by `middle`,
/// it may lie 1/2 + bound(saturated steps).
template <class Bound, class MakeFault>
void compare_code(Meaning& meaning, const CodeFormat& format, double steps, double middle, int64_t found, Bound bound,
                  MakeFault make_fault) {
  ++meaning.compared;
  const int64_t expected = format.code(steps + middle);
  if (found == expected) return;
  const auto zero = static_cast<double>(format.zero_point);
  const double saturated =
      std::clamp(steps, static_cast<double>(format.code_min) - zero, static_cast<double>(format.code_max) - zero);
  meaning.largest = std::max(meaning.largest, std::abs(found - expected));
  if (std::fabs(static_cast<double>(found) - zero - saturated - middle) <= 0.5 + bound(saturated)) {  // never of a NaN
    ++meaning.near_ties;
    return;
  }
  ++meaning.beyond;
  if (meaning.first) return;
  meaning.first = make_fault();
  meaning.first->found = found;
  meaning.first->expected = expected;
}

/// Operations of the source from a product on, or from what a layer without one reads; each reads the one before.
struct Path {
  Op product;
  std::vector<Op> behind;
};

/// The network whose operators a layer is held to.
enum class Reference {
  source,   ///< the one that came in, from the nearest values that the program has as well
  prepared  ///< the prepared one without its quantizers, one operator, where rewriting left values that are new
};

/// That of codings[place]: `prepared` where the source lacks the value, or a float value that the layer reads, maybe
/// through values that the source lacks. The weights behind such a float value are not those of the source.
Reference reference_of(const std::vector<Coding>& codings, size_t place);

/// The meaning of codings[place].
class LayerMeaningCheck {
 public:
  /// Keeps a reference to `graphs`, and marks there what it covers.
  LayerMeaningCheck(MeaningGraphs& graphs, size_t place, Reference reference);

  const std::string& name() const { return coding().layer; }
  void check_weights();
  /// Elements of every sample of the run: all, or some.
  void check(const Run& run, bool all, const MeaningOptions& options);
  const Meaning& result() const { return meaning_; }

 private:
  const Coding& coding() const { return graphs_.codings[place_]; }
  const Model& network() const { return reference_ == Reference::source ? graphs_.source : graphs_.prepared; }
  /// What the value is in that network; null where it has no such value.
  Value value_of(const Coding& coding) const {
    return reference_ == Reference::source ? coding.source : coding.prepared;
  }
  /// What `part` reads that the network does not have as a value is part of the layer too.
  bool belongs(const Coding& part) const { return !value_of(part) && !part.real; }
  /// The operator of `network()` that the layer is named after: the one in front of an activation that is part of it.
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
  MeaningFault feature_fault(const Run& run, int64_t index, double real) const;
  std::string says() const;

  MeaningGraphs& graphs_;
  size_t place_;
  Reference reference_;
  Value out_;
  size_t axis_ = 1;  ///< of channels
  RealValues values_;
  CodeBound bound_;
  std::optional<LayerWeights> weights_;
  Op product_;  ///< of the source, in layers with weights; the first operator of one that only scales channels
  Meaning meaning_;
};

}  // namespace halfstep::verify
