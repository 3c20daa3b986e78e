// Numbers from start on in steps, before limit, all known.
#include <algorithm>
#include <cmath>

#include "halfstep/base/small_float.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

constexpr double kMost = 1 << 24;

/// In the element type itself, start + i * delta.
template <class T>
Tensor range(const Tensor& start, const Tensor& limit, const Tensor& delta, const Node& node) {
  const T from = start.data<T>()[0], to = limit.data<T>()[0], step = delta.data<T>()[0];
  if (step == 0) fail("{}: found a step of 0", node.where());
  const double count =
      std::max(std::ceil((static_cast<double>(to) - static_cast<double>(from)) / static_cast<double>(step)), 0.0);
  if (!(count <= kMost)) Translator::refuse(node, fmt::format("{} numbers are not supported", count));
  Tensor result = Tensor::uninitialized(start.dtype(), {static_cast<int64_t>(count)});
  const auto numbers = result.data<T>();
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<T>(from + static_cast<T>(i) * step);
  return result;
}

/// Of 16-bit floats: in float32, each number rounded once.
Tensor small_range(const Tensor& start, const Tensor& limit, const Tensor& delta, const Node& node) {
  const auto wide = [](const Tensor& t) { return filled(DType::f32, {}, element(t, 0)); };
  const Tensor numbers = range<float>(wide(start), wide(limit), wide(delta), node);
  Tensor result = Tensor::uninitialized(start.dtype(), numbers.dims());
  for (size_t i = 0; i < numbers.data<float>().size(); ++i)
    result.data<uint16_t>()[i] = encode(numbers.data<float>()[i], SmallFloat::of(start.dtype()), false);
  return result;
}

}  // namespace

void translate_Range(Translator& translator, const Node& node) {
  Tensor in[3];
  for (size_t i = 0; i < 3; ++i) {
    in[i] = translator.contents(translator.in(node, i));
    if (in[i].size() != 1 || in[i].dtype() != in[0].dtype())
      fail("{}: input {} is {}", node.where(), i, to_string(in[i].type()));
  }
  const auto give = [&](Tensor result) { translator.set(node, 0, Translator::known(std::move(result))); };
  switch (in[0].dtype()) {
    case DType::i64: return give(range<int64_t>(in[0], in[1], in[2], node));
    case DType::i32: return give(range<int32_t>(in[0], in[1], in[2], node));
    case DType::i16: return give(range<int16_t>(in[0], in[1], in[2], node));
    case DType::f32: return give(range<float>(in[0], in[1], in[2], node));
    case DType::f64: return give(range<double>(in[0], in[1], in[2], node));
    case DType::f16:
    case DType::bf16: return give(small_range(in[0], in[1], in[2], node));
    default: Translator::refuse(node, fmt::format("{} is not supported", name(in[0].dtype())));
  }
}

}  // namespace halfstep::formats::onnx
