// Windows of convolutions and pools: what a file leaves open, worked out, and the operators that have them.
#pragma once

#include <string_view>
#include <vector>

#include "halfstep/formats/builder/builder.h"

namespace halfstep::formats {

enum class Padding { given, none, same_upper, same_lower };

/// Lists with a number for each spatial axis; pads holds all begins, then all ends. Empty lists stand for 1, and for 0.
struct WindowSpec {
  std::vector<int64_t> kernel, strides, dilations, pads;
  Padding padding = Padding::given;
  bool ceil_mode = false;
};

/// The same lists, complete.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;
  /// What pads must hold besides at the ends so that no last window hangs over: 0 without ceil_mode.
  std::vector<int64_t> ceil_pads;
};

/// The node's window over an input of `dims`, [n, c, ...]. Throws for lists that do not fit.
Window window_of(const Node& node, const Dims& dims, WindowSpec spec);

/// A convolution of x [n, c, ...] with w [o, i, ...]: conv2d over one or two axes, conv over more.
Operand convolution(Builder& builder, const Node& node, const std::vector<Operand>& operands, const Window& window,
                    int64_t groups);

struct Pool {
  std::string_view plane, general;  ///< operators: over two axes, with fast kernels, and over any
  Attributes attributes;            ///< of both, besides the window
  Attributes indices = {};          ///< of `general`, where it gives the places of what it takes too
  bool counts_padding = false;      ///< padding is not free of meaning
  bool ceil_mode = false;
};

/// By `plane` where it can say it, else by `general`.
std::vector<Operand> pooled(Builder& builder, const Node& node, const Operand& x, const Window& window,
                            const Pool& pool);

}  // namespace halfstep::formats
