// Contents of values when dynamic extents are set to trial numbers. Used for arithmetic on extents in floats, or with
// operators whose rule only Halfstep's kernels have.
#include <algorithm>
#include <cmath>
#include <limits>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/builder/builder.h"

namespace halfstep::formats {
namespace {

constexpr int64_t kMostListed = 64, kMostTried = int64_t{1} << 16;

bool is_list(const Type& type) {
  return type.is_static() && type.dims.size() <= 1 && count_elements(type.dims) <= kMostListed;
}

/// A known list is the same at each trial.
std::optional<std::vector<Builder::TriedFloats>> same_floats(const Tensor& tensor) {
  if (!is_list(tensor.type())) return std::nullopt;
  std::vector<Builder::TriedFloats> floats(static_cast<size_t>(tensor.size()));
  for (size_t i = 0; i < floats.size(); ++i) floats[i].fill(element(tensor, static_cast<int64_t>(i)));
  return floats;
}

std::optional<std::vector<Builder::TriedFloats>> floats_of(const Elements& elements) {
  std::vector<Builder::TriedFloats> floats;
  for (const Element& one : elements.values) {
    const auto tried = one.tried();
    if (!tried) return std::nullopt;
    std::ranges::transform(*tried, floats.emplace_back().begin(), [](int64_t number) {
      return number == kRefused ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(number);
    });
  }
  return floats;
}

bool is_integer(DType dtype) { return dtype == DType::i64 || dtype == DType::i32 || dtype == DType::boolean; }

}  // namespace

std::optional<std::vector<Builder::TriedFloats>> Builder::tried_floats(const Operand& operand) {
  if (operand.known()) return same_floats(operand.tensor);
  if (operand.elements) return floats_of(*operand.elements);
  if (!operand.value || !binding_.evaluate || !is_list(operand.value.type())) return std::nullopt;
  const Type& type = operand.value.type();
  TriedFloats refused;
  refused.fill(std::numeric_limits<double>::quiet_NaN());
  std::vector<TriedFloats> tried(static_cast<size_t>(count_elements(type.dims)), refused);
  bool is_known = false;
  for (size_t number = 0; number < refused.size(); ++number) {
    const Tensor contents = tried_contents(operand.value, number);
    if (!contents.defined() || contents.type() != type) continue;
    is_known = true;
    for (size_t i = 0; i < tried.size(); ++i) tried[i][number] = element(contents, static_cast<int64_t>(i));
  }
  return is_known ? std::optional(std::move(tried)) : std::nullopt;
}

std::optional<Elements> Builder::elements(const Operand& operand) {
  if (auto list = elements_of(operand)) return list;
  const auto floats = operand.value && is_integer(operand.value.dtype()) ? tried_floats(operand) : std::nullopt;
  if (!floats) return std::nullopt;
  Elements list{{}, operand.value.dims().empty(), operand.value.dtype()};
  for (const TriedFloats& one : *floats) {
    Tried tried;
    for (size_t i = 0; i < tried.size(); ++i) tried[i] = std::isnan(one[i]) ? kRefused : std::llround(one[i]);
    list.values.emplace_back(std::optional(tried));
  }
  return list;
}

Tensor Builder::tried_contents(Value value, size_t number) {
  const std::pair key(value.node(), number);
  if (const auto known = tried_contents_.find(key); known != tried_contents_.end()) return known->second;
  return tried_contents_[key] = tried_result(value, number);
}

Tensor Builder::tried_result(Value value, size_t number) {
  if (value.is_tensor()) return model_.tensors.at(value.name());
  const Op op = value.producer();
  if (!op || op.info().flow != Flow::none) return {};
  if (op.is<ops::Positions>()) return tried_positions(op, number);
  std::vector<Tensor> operands;
  int64_t count = 0;
  for (const Value operand : op.operands()) {
    operands.push_back(operand ? tried_contents(operand, number) : Tensor());
    if (operand && !operands.back().defined()) return {};
    count += operand ? operands.back().size() : 0;
  }
  if (count > kMostTried) return {};
  try {
    return binding_.evaluate(op.info(), op.attributes(), operands).at(static_cast<size_t>(value.port()));
  } catch (const Error&) {
    return {};  // the operator rejects these extents
  }
}

Tensor Builder::tried_positions(Op op, size_t number) const {
  const ops::Positions positions(op.node());
  const int64_t axis = positions.axis() + (positions.axis() < 0 ? std::ssize(positions.like().dims()) : 0);
  const auto extent = trials_.extent(positions.like(), static_cast<size_t>(axis));
  const int64_t count = extent ? (*extent)[number] : kRefused;
  if (count == kRefused || count > kMostTried) return {};
  Tensor tensor(DType::i64, {count});
  for (int64_t i = 0; i < count; ++i)
    tensor.data<int64_t>()[static_cast<size_t>(i)] = positions.start() + i * positions.step();
  return tensor;
}

}  // namespace halfstep::formats
