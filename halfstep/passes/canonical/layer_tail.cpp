#include "halfstep/passes/canonical/layer_tail.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "halfstep/passes/canonical/code_forms.h"
#include "halfstep/passes/graph/stored_numbers.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

double zero(double) { return 0; }
double one(double) { return 1; }
double minus_one(double) { return -1; }
double same(double number) { return number; }
double negative(double number) { return -number; }
double reciprocal(double number) { return 1 / number; }

/// An operator of y at port `y`, and of a stored number at the other port, if any. It computes y * factor + offset.
struct AffineForm {
  const OpInfo* op;
  int y;
  double (*factor)(double number);
  double (*offset)(double number);
};

std::span<const AffineForm> affine_forms() {
  static const AffineForm kAffineForms[] = {
      {&ops::Add::record(), 0, one, same},        {&ops::Add::record(), 1, one, same},
      {&ops::Sub::record(), 0, one, negative},    {&ops::Sub::record(), 1, minus_one, same},
      {&ops::Mul::record(), 0, same, zero},       {&ops::Mul::record(), 1, same, zero},
      {&ops::Div::record(), 0, reciprocal, zero}, {&ops::Neg::record(), 0, minus_one, zero},
  };
  return kAffineForms;
}

std::optional<ChannelAffine> affine_of(const AffineForm& form, const Model& model, Op op, Value y, size_t axis) {
  const bool is_unary = op.operands().size() == 1;
  const auto numbers = is_unary ? std::vector<double>(static_cast<size_t>(y.dims()[axis]))
                                : numbers_by_channel(model, op.in(1 - form.y), y.dims(), axis);
  if (!numbers || !std::ranges::all_of(*numbers, [](double number) { return std::isfinite(number); }))
    return std::nullopt;
  ChannelAffine affine;
  std::ranges::transform(*numbers, std::back_inserter(affine.factor), form.factor);
  std::ranges::transform(*numbers, std::back_inserter(affine.offset), form.offset);
  const bool hides = std::ranges::any_of(affine.offset, [](double number) { return number <= kHidden; });
  return affine.fits_f32() && !hides ? std::optional(std::move(affine)) : std::nullopt;
}

bool is_f32_tensor(Value value) { return value.is_tensor() && value.dtype() == DType::f32; }

std::optional<ChannelAffine> affine_of(const Model& model, ops::BatchNorm norm, Value y, size_t axis) {
  const Value statistics[] = {norm.scale(), norm.bias(), norm.mean(), norm.variance()};
  if (!norm.is_test() || norm.x() != y || axis != 1 || !std::ranges::all_of(statistics, is_f32_tensor))
    return std::nullopt;
  const auto contents = [&](Value tensor) { return model.tensors.at(tensor.name()); };
  return norm_affine(contents(norm.scale()), contents(norm.bias()), contents(norm.mean()), contents(norm.variance()),
                     norm.epsilon());
}

/// Returns the affine that the operator applies to y, whose channels are `axis`.
std::optional<ChannelAffine> affine_of(const Model& model, Op op, Value y, size_t axis) {
  if (op.is<ops::BatchNorm>()) return affine_of(model, ops::BatchNorm(op.node()), y, axis);
  for (const AffineForm& form : affine_forms()) {
    if (form.op == &op.info() && op.in(form.y) == y) return affine_of(form, model, op, y, axis);
  }
  return std::nullopt;
}

/// Returns the number of elements, or nothing if an extent is unknown or 0.
std::optional<int64_t> known_count(std::span<const int64_t> dims) {
  if (std::ranges::any_of(dims, [](int64_t extent) { return extent == kUnknown || extent == 0; })) return std::nullopt;
  return count_elements(dims);
}

/// Whether a reshape keeps the extents of its first axes, including unknown ones.
bool keeps_first(Op op, size_t axes) {
  const Dims &from = op.in(0).dims(), &to = op.out(0).dims();
  if (to.size() <= axes) return false;
  const bool is_reshape = op.is<ops::Reshape>();
  for (size_t i = 0; i < axes; ++i) {
    const bool is_same = from[i] != kUnknown || (is_reshape && ops::Reshape(op.node()).dims()[i] == 0);
    if (from[i] != to[i] || !is_same) return false;
  }
  return true;
}

/// Returns the position of an axis after a reshape: the same number of elements lies behind it or before it. Among
/// several axes of extent 1 it is the one at the same position.
std::optional<size_t> reshaped_axis(Op op, size_t axis) {
  const Dims &from = op.in(0).dims(), &to = op.out(0).dims();
  if (keeps_first(op, axis) && to[axis] == from[axis]) return axis;
  const auto behind = known_count(std::span(from).subspan(axis + 1));
  for (size_t at = 0; behind && at < to.size(); ++at) {
    if (to[at] == from[axis] && known_count(std::span(to).subspan(at + 1)) == behind) return at;
  }
  return std::nullopt;
}

/// Returns the position of an axis of y after a reshape or a transpose. Returns nothing for other operators, and if the
/// axis is merged with others.
std::optional<size_t> moved_axis(Op op, Value y, size_t axis) {
  if (op.in(0) != y) return std::nullopt;
  if (op.is<ops::Reshape, ops::ReshapeBy, ops::Flatten, ops::Squeeze, ops::Unsqueeze>()) return reshaped_axis(op, axis);
  if (!op.is<ops::Transpose>()) return std::nullopt;
  const std::vector<int64_t> perm = ops::Transpose(op.node()).perm();
  return static_cast<size_t>(std::ranges::find(perm, static_cast<int64_t>(axis)) - perm.begin());
}

}  // namespace

bool ChannelAffine::scales() const {
  return std::ranges::any_of(factor, [](double number) { return number != 1; });
}

bool ChannelAffine::adds() const {
  return std::ranges::any_of(offset, [](double number) { return number != 0; });
}

bool ChannelAffine::fits_f32() const {
  const auto is_factor = [](double number) { return number == 0 || std::isnormal(static_cast<float>(number)); };
  const auto is_offset = [](double number) { return std::isfinite(static_cast<float>(number)); };
  return std::ranges::all_of(factor, is_factor) && std::ranges::all_of(offset, is_offset);
}

std::optional<std::vector<double>> numbers_by_channel(const Model& model, Value value, const Dims& y, size_t axis) {
  const auto stored = stored_numbers(model, value);
  if (!stored || stored->dims.size() > y.size()) return std::nullopt;
  const Dims& dims = stored->dims;
  const size_t missing = y.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1 && (i + missing != axis || dims[i] != y[axis])) return std::nullopt;
  }
  if (stored->numbers.size() != 1) return stored->numbers;
  return std::vector<double>(static_cast<size_t>(y[axis]), stored->numbers[0]);
}

ChannelAffine no_affine(size_t channels) {
  return {std::vector<double>(channels, 1.0), std::vector<double>(channels, 0.0)};
}

ChannelAffine composed(const ChannelAffine& inner, const ChannelAffine& outer) {
  ChannelAffine both = outer;
  for (size_t c = 0; c < both.factor.size(); ++c) {
    both.factor[c] *= inner.factor[c];
    both.offset[c] += inner.offset[c] * outer.factor[c];
  }
  return both;
}

ChannelAffine norm_affine(const Tensor& scale, const Tensor& shift, const Tensor& mean, const Tensor& variance,
                          double epsilon) {
  const auto scales = scale.data<float>(), shifts = shift.data<float>();
  const auto means = mean.data<float>(), variances = variance.data<float>();
  ChannelAffine result;
  for (size_t c = 0; c < scales.size(); ++c) {
    const double factor = scales[c] / std::sqrt(variances[c] + epsilon);
    result.factor.push_back(factor);
    result.offset.push_back(shifts[c] - means[c] * factor);
  }
  return result;
}

std::vector<TailPart> tail_of(const Model& model, Op layer) {
  std::vector<TailPart> tail;
  std::vector<Op> moves;
  size_t axis = 1;
  Value y = layer.out(0);
  for (Op next = only_reader(y); next; next = only_reader(y)) {
    if (next.results().size() != 1 || next.out(0).dtype() != DType::f32) break;
    if (const auto moved = moved_axis(next, y, axis)) {
      axis = *moved;
      moves.push_back(next);
    } else if (auto affine = affine_of(model, next, y, axis)) {
      tail.push_back({next, next.in(0) == y ? 0 : 1, std::move(*affine), std::move(moves)});
      moves.clear();
    } else {
      break;
    }
    y = next.out(0);
  }
  return tail;
}

}  // namespace halfstep::passes
