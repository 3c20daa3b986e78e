// Ranges that depend on dynamic dimensions of a network's inputs, and the largest extents for which they are valid.
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
  /// `observing` is `prepared` in calibration form. `most` is the largest extent of dynamic dimensions. Its default is
  /// the extent for which the ranges of `prepared` were valid before, else that of the samples. Throws if there is no
  /// dynamic dimension, or if samples are longer.
  CalibratedLengths(const Model& prepared, const Model& observing, const data::Samples& samples,
                    std::optional<int64_t> most);

  /// `form` with only the observers whose ranges depend on a dynamic dimension. nullopt if the samples are the longest
  /// inputs.
  std::optional<Model> longer(const Model& form) const;
  /// `extents` with the largest extents in dynamic dimensions.
  std::map<std::string, Dims> longest(std::map<std::string, Dims> extents) const;

  /// Stores in the Model the extents for which its ranges are valid.
  void keep(Model& prepared) const;

  /// Values whose ranges may be invalid for longer inputs. Empty if `most` is known.
  std::vector<std::string> warnings() const;

 private:
  void require_most() const;
  /// nullopt if the earlier ranges were valid only up to the length of the samples.
  std::optional<int64_t> longer_before(const Model& prepared) const;

  std::map<std::string, Dims> open_;   ///< extents of arguments with dynamic dimensions, see passes::open_lengths
  std::map<std::string, Dims> found_;  ///< extents of one sample
  std::optional<int64_t> most_;
  std::set<std::string> observers_;  ///< key: their tensor `low`
  std::vector<std::string> first_;   ///< values that depend on an extent, without another observed value between
  size_t behind_ = 0;                ///< number of observed values that depend on those in first_
};

/// A warning sentence if inputs of these extents are longer than the ranges of a Model allow, else nullopt.
std::optional<std::string> beyond_calibrated(const Model& model, const std::map<std::string, Dims>& extents);

}  // namespace halfstep::train
