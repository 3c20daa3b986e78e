// Windows of convolutions and pools: infers omitted attributes and inserts the operators.
#pragma once

#include <string_view>
#include <vector>

#include "halfstep/formats/builder/builder.h"

namespace halfstep::formats {

enum class Padding { given, none, same_upper, same_lower };

/// Lists with a number for each spatial axis. `pads` holds all begins, then all ends. Empty lists mean 1, or 0 for
/// pads.
struct WindowSpec {
  std::vector<int64_t> kernel, strides, dilations, pads;
  Padding padding = Padding::given;
  bool ceil_mode = false;
};

/// Complete lists.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;
  /// Additional padding at the ends so that no last window hangs over. 0 without ceil_mode.
  std::vector<int64_t> ceil_pads;
};

/// Returns the node's window over an input of `dims`, [n, c, ...]. Throws for lists that do not fit.
Window window_of(const Node& node, const Dims& dims, WindowSpec spec);

/// Inserts a convolution of x [n, c, ...] with w [o, i, ...]: conv2d over one or two axes, conv over more.
Operand convolution(Builder& builder, const Node& node, const std::vector<Operand>& operands, const Window& window,
                    int64_t groups);

struct Pool {
  std::string_view plane, general;  ///< operators: over two axes with fast kernels, and over any number of axes
  Attributes attributes;            ///< attributes of both, besides the window
  Attributes indices = {};          ///< attributes of `general` if it also returns the positions of its elements
  bool counts_padding = false;      ///< padding affects the result
  bool ceil_mode = false;
};

/// Inserts `plane` if it supports the window, otherwise `general`.
std::vector<Operand> pooled(Builder& builder, const Node& node, const Operand& x, const Window& window,
                            const Pool& pool);

}  // namespace halfstep::formats
