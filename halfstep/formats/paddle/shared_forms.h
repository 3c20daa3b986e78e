// Translations that several operators of Paddle share.
#pragma once

#include <cstdint>

#include "halfstep/formats/builder/window_attributes.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

/// The position of an attribute that PIR never has as an input.
constexpr size_t kNoPosition = SIZE_MAX;

/// Every element is `value`.
Operand constant(const Node& node, DType dtype, const Dims& dims, double value);

/// Weights that are stored as int8 codes as numbers of `like`'s type.
Operand as_float(Translator& translator, const Node& node, const Operand& weights, const Operand& like);

/// What the attributes say of a window over two axes; padding_algorithm becomes padding.
WindowSpec window_spec(const Node& node, std::vector<int64_t> kernel, bool ceil_mode);

void translate_convolution(Translator& translator, const Node& node);

/// By the record; of a ProgramDesc, where y may have its axes in the middle of those of x.
void translate_elementwise(Translator& translator, const Node& node);

/// By our operator `op` over the axes that the node says; without any over all.
void translate_reduction(Translator& translator, const Node& node, std::string_view op);

/// To another height and width.
void translate_resize(Translator& translator, const Node& node);

/// Slices of the input along `axis`: of the extents `parts`, of which one may be -1, or `count` equal ones.
void translate_split(Translator& translator, const Node& node, int64_t axis, std::vector<int64_t> parts, int64_t count);

/// The part of the input from `starts` to `ends` along attribute axes; those of decrease_axis go.
void translate_slice(Translator& translator, const Node& node, const std::vector<int64_t>& starts,
                     const std::vector<int64_t>& ends, const std::vector<int64_t>& steps);

}  // namespace halfstep::formats::paddle
