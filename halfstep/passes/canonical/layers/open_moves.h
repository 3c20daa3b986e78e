// Inserts moves of elements along axes whose extents only a run knows. Indices are counted along such an axis, so that
// they are arithmetic on integers. See docs/design/layer_forms.md.
#pragma once

#include "halfstep/core/ir/model.h"
#include "halfstep/passes/graph/spatial_axes.h"

namespace halfstep::passes {

/// Whether a run decides an extent behind the second axis.
bool has_open_axes(Value x);

/// Inserts operations before one operation.
class OpenMoves {
 public:
  OpenMoves(Model& model, Op before) : model_(model), before_(before) {}

  /// Puts `zeros` zeros behind every element along an axis.
  Value with_zeros(Value x, size_t axis, int64_t zeros);
  /// Repeats every element along an axis.
  Value repeated(Value x, size_t axis, int64_t times);
  /// Returns the positions [windows] of the first elements of the windows along an axis.
  Value window_starts(Value x, size_t axis, const SpatialAxis& window);
  /// Replaces an axis by two: the windows that begin at `starts`, and their elements.
  Value windows(Value x, size_t axis, Value starts, const SpatialAxis& window);
  /// Returns x as images [samples, channels, h, w]. `order` has the axes of x in the order h, w, those that become
  /// samples, and those that become channels.
  Value as_images(Value x, std::vector<int64_t> order, int64_t channels);
  /// Takes the last part of the samples of images out as an axis with the extent of `like` along `axis`. The result has
  /// the axes `order` of h, w, samples, that axis, channels.
  Value from_images(Value images, Value like, size_t axis, std::vector<int64_t> order);

 private:
  Value insert(const OpInfo& info, std::vector<Value> operands, Attributes attributes = {});
  /// Returns numbers [extent, 1] along an axis of x.
  Value column(Value x, size_t axis, int64_t start, int64_t step);
  Value wide(Value column, int64_t columns);
  /// Gathers along an axis, by indices that become a list.
  Value gathered(Value x, size_t axis, Value indices);

  Model& model_;
  Op before_;
};

}  // namespace halfstep::passes
