// Positions that convolutions and transposed convolutions read.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::verify {

/// Whether the operator is a convolution or a transposed convolution of floats.
bool is_convolution(Op op);

/// The window of a convolution over up to three spatial axes. Missing axes come first and have extent 1.
class ProductWindow {
 public:
  explicit ProductWindow(Op op);

  /// Output channels, and weights of each: [channels of a group][kernel].
  int64_t outputs() const { return y_[1]; }
  int64_t plane() const { return y_[2] * y_[3] * y_[4]; }
  int64_t groups() const { return groups_; }

  /// Returns the weights with output channels first, from the order in which the operator stores them.
  std::vector<double> rows(std::span<const double> stored) const;
  /// Returns the weights as the operator stores them, from those of the program's convolution of images. The program
  /// has output channels first and planes of a kernel as channels. A transposed convolution has flipped kernels there.
  std::vector<double> stored(std::span<const double> program) const;

  /// Indices of the elements of x that results of group `patch / plane()` at position `patch % plane()` read, -1 in the
  /// padding. Groups are counted over all images.
  void fill(int64_t patch, std::vector<int64_t>& indices) const;

 private:
  static constexpr size_t kAxes = 3;
  using Axes = std::array<int64_t, kAxes>;

  void set_padding(Op op);
  /// Position along an axis of x, -1 in the padding.
  int64_t place(size_t axis, int64_t out, int64_t tap) const;
  /// Calls visit(source, program, row) with the index of each weight in all three orders.
  template <class Visit>
  void for_each_weight(Visit visit) const;

  bool transposed_;
  std::array<int64_t, kAxes + 2> x_{}, y_{};
  Axes kernel_{}, stride_{}, dilation_{}, before_{};
  int64_t groups_, inputs_;  ///< inputs_ counts channels of x in a group
};

}  // namespace halfstep::verify
