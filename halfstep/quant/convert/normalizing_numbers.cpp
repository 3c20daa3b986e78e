#include "halfstep/quant/convert/normalizing_numbers.h"

#include "halfstep/core/arith/row_norm.h"
#include "halfstep/core/arith/row_softmax.h"

namespace halfstep::quant {
namespace {

constexpr int64_t kEntries = 256;

std::span<const float> numbers_of(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<float>() : std::span<const float>();
}

template <class T>
Tensor tensor_of(DType type, std::span<const T> numbers) {
  return Tensor::of<T>(type, {static_cast<int64_t>(numbers.size())}, numbers);
}

}  // namespace

Status softmax_numbers(const arith::RequantizeRule& rule, const CodeFormat& x, const CodeFormat& y,
                       NormalizingNumbers& result) {
  arith::Requantizer factor;
  if (Status status = rule.for_quotient(y.scale, factor); !status.ok()) return status;
  const arith::Multiplier& multiplier = std::get<arith::FixedScale>(factor).positive;
  result.attributes = {{"multiplier", int64_t{multiplier.m}}, {"shift", int64_t{multiplier.shift}}};
  const arith::Exponentials exponentials(x.scale);
  const bool is_wide = x.code_max - x.code_min >= kEntries;
  result.tensors = {
      {"fine", tensor_of<int32_t>(DType::i32, exponentials.fine)},
      {"coarse", tensor_of<int32_t>(DType::i32, std::span(exponentials.coarse).first(is_wide ? kEntries : size_t{1}))}};
  return {};
}

Status norm_numbers(const NormLayer& layer, NormalizingNumbers& result) {
  const int code_bits = static_cast<int>(8 * size_of(layer.code_type));
  const bool is_open = layer.elements == kUnknown;
  const auto in_row = [&](const Tensor& numbers) {
    const std::span<const float> given = numbers_of(numbers);
    return given.size() == 1 ? std::vector<float>(static_cast<size_t>(is_open ? 1 : layer.elements), given[0])
                             : std::vector<float>(given.begin(), given.end());
  };
  const std::vector<float> scale = in_row(layer.scale), bias = in_row(layer.bias);
  arith::RowNorm norm;
  Status status = arith::derive({scale, bias, layer.epsilon, layer.x.scale, layer.y.scale, code_bits}, norm);
  if (!status.ok()) return status;
  result.attributes = {{"centered", layer.centered},
                       {"epsilon", is_open ? 0 : norm.epsilon},
                       {"guard", int64_t{is_open ? 0 : norm.guard}},
                       {"shift", int64_t{norm.shift}}};
  if (is_open) result.attributes["row_epsilon"] = arith::squared_steps(layer.epsilon, layer.x.scale);
  result.tensors = {{"factor", tensor_of<int32_t>(DType::i32, norm.factor)},
                    {"bias", tensor_of<int64_t>(DType::i64, norm.bias)}};
  return {};
}

}  // namespace halfstep::quant
