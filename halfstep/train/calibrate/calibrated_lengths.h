// Ranges that depend on open extents of a network's inputs, and the extents that they hold up to.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/data/pipeline/samples.h"

namespace halfstep::train {

class CalibratedLengths {
 public:
  /// `observing`: `prepared` in calibration form. `most`: the largest extent of open axes; else that which ranges of
  /// `prepared` held for before, or that of the samples.
  /// Throws where there is no such axis, and where samples are longer.
  CalibratedLengths(const Model& prepared, const Model& observing, const data::Samples& samples,
                    std::optional<int64_t> most);

  /// `form` with those observers alone whose ranges depend on an open extent; nothing where the samples are the longest
  /// inputs.
  std::optional<Model> longer(const Model& form) const;
  /// `extents` with the largest ones on open axes.
  std::map<std::string, Dims> longest(std::map<std::string, Dims> extents) const;

  /// Leaves in the Model which extents its ranges hold for.
  void keep(Model& prepared) const;

  /// Where nobody said how long inputs get: the values whose ranges may not hold.
  std::vector<std::string> warnings() const;

 private:
  void require_most() const;
  /// Nothing where ranges held for no longer inputs than the samples.
  std::optional<int64_t> longer_before(const Model& prepared) const;

  std::map<std::string, Dims> open_;   ///< extents of arguments with open axes, see passes::open_lengths
  std::map<std::string, Dims> found_;  ///< those of a sample
  std::optional<int64_t> most_;
  std::set<std::string> observers_;  ///< by their tensor `low`
  std::vector<std::string> first_;   ///< values that depend on an extent, and on none that is watched before them
  size_t behind_ = 0;                ///< how many depend on these
};

/// What to say where inputs of these extents are longer than the ranges of a Model hold for: nothing, or a sentence.
std::optional<std::string> beyond_calibrated(const Model& model, const std::map<std::string, Dims>& extents);

}  // namespace halfstep::train
