#include "halfstep/formats/builder/number_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/core/base/small_float.h"
#include "halfstep/formats/builder/errors.h"

namespace halfstep::formats {
namespace {

constexpr double kMost = 1 << 24;

/// Computes start + i * delta in the element type.
template <class T>
Tensor numbers(const Node& node, const Tensor& start, const Tensor& limit, const Tensor& delta) {
  const T from = start.data<T>()[0], to = limit.data<T>()[0], step = delta.data<T>()[0];
  if (step == 0) fail(errors::step_is_zero(node.where()));
  const double count =
      std::max(std::ceil((static_cast<double>(to) - static_cast<double>(from)) / static_cast<double>(step)), 0.0);
  if (!(count <= kMost))
    fail(errors::constant_too_large(node.where(), fmt::format("a range of {} numbers", count), kMost));
  Tensor result = Tensor::uninitialized(start.dtype(), {static_cast<int64_t>(count)});
  const auto out = result.data<T>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(from + static_cast<T>(i) * step);
  return result;
}

/// Computes a range of 16-bit floats in float32, with each number rounded once.
Tensor small_numbers(const Node& node, const Tensor& start, const Tensor& limit, const Tensor& delta) {
  const auto wide = [](const Tensor& t) { return filled(DType::f32, {}, element(t, 0)); };
  const Tensor floats = numbers<float>(node, wide(start), wide(limit), wide(delta));
  Tensor result = Tensor::uninitialized(start.dtype(), floats.dims());
  for (size_t i = 0; i < floats.data<float>().size(); ++i)
    result.data<uint16_t>()[i] = encode(floats.data<float>()[i], SmallFloat::of(start.dtype()), false);
  return result;
}

}  // namespace

Tensor range(const Node& node, const Tensor& start, const Tensor& limit, const Tensor& delta) {
  for (const Tensor* tensor : {&start, &limit, &delta}) {
    if (tensor->size() != 1 || tensor->dtype() != start.dtype())
      fail(errors::range_types_differ(node.where(), to_string(tensor->type()), name(start.dtype())));
  }
  switch (start.dtype()) {
    case DType::i64: return numbers<int64_t>(node, start, limit, delta);
    case DType::i32: return numbers<int32_t>(node, start, limit, delta);
    case DType::i16: return numbers<int16_t>(node, start, limit, delta);
    case DType::f32: return numbers<float>(node, start, limit, delta);
    case DType::f64: return numbers<double>(node, start, limit, delta);
    case DType::f16:
    case DType::bf16: return small_numbers(node, start, limit, delta);
    default: fail(errors::element_type_not_supported(node.where(), name(start.dtype())));
  }
}

}  // namespace halfstep::formats
