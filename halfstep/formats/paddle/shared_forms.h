// Translations that several operators of Paddle share.
#pragma once

#include <cstdint>

#include "halfstep/formats/builder/window_attributes.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

/// Marks an attribute that is never an input in PIR.
constexpr size_t kNoPosition = SIZE_MAX;

/// Returns a tensor with every element set to `value`.
Operand constant(const Node& node, DType dtype, const Dims& dims, double value);

/// Converts weights that are stored as int8 codes to `like`'s type.
Operand as_float(Translator& translator, const Node& node, const Operand& weights, const Operand& like);

/// Reads the window over two axes from the attributes. padding_algorithm becomes padding.
WindowSpec window_spec(const Node& node, std::vector<int64_t> kernel, bool ceil_mode);

void translate_convolution(Translator& translator, const Node& node);

/// Translates by the record. In a ProgramDesc the axes of y may match axes in the middle of x.
void translate_elementwise(Translator& translator, const Node& node);

/// Translates to Halfstep's operator `op` over the node's axes, or over all axes if it has none.
void translate_reduction(Translator& translator, const Node& node, std::string_view op);

/// Translates interpolation to another height and width.
void translate_resize(Translator& translator, const Node& node);

/// Slices the input along `axis` into extents `parts`, one of which may be -1, or into `count` equal ones.
void translate_split(Translator& translator, const Node& node, int64_t axis, std::vector<int64_t> parts, int64_t count);

/// Slices the input from `starts` to `ends` along the attribute axes, and removes the axes in decrease_axis.
void translate_slice(Translator& translator, const Node& node, const std::vector<int64_t>& starts,
                     const std::vector<int64_t>& ends, const std::vector<int64_t>& steps);

}  // namespace halfstep::formats::paddle
