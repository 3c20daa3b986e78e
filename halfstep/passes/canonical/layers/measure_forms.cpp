#include "halfstep/passes/canonical/layers/measure_forms.h"

#include <algorithm>
#include <numeric>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"

namespace halfstep::passes {
namespace {

using Ints = std::vector<int64_t>;

/// The axes of a reduction, by number. None: the elements stay apart.
struct SummedAxes {
  Ints list;
  bool keep_dims = true;
};

Ints axes_from(size_t first, size_t end) {
  Ints axes(end - first);
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(first));
  return axes;
}

template <class Reduction>
SummedAxes summed_axes(const Reduction& reduction) {
  SummedAxes axes{reduction.axes(), reduction.keep_dims()};
  if (axes.list.empty() && !reduction.noop_with_empty_axes()) axes.list = axes_from(0, reduction.x().dims().size());
  return axes;
}

class MeasureForms {
 public:
  explicit MeasureForms(Model& model) : model_(model) {}

  void run() {
    for (const Op op : model_.graph.ops()) {
      if (op.results().size() != 1 || op.out(0).dtype() != DType::f32 || op.operands().empty() || op.in(0).is_tensor())
        continue;
      old_ = op;
      if (const Value made = form_of(op)) replace(model_.graph, op, made.producer());
    }
  }

 private:
  Value form_of(Op op) {
    if (op.is<ops::ReduceL1>()) return reduced<ops::ReduceL1>(&MeasureForms::sum_of_magnitudes);
    if (op.is<ops::ReduceL2>()) return reduced<ops::ReduceL2>(&MeasureForms::length);
    if (op.is<ops::ReduceSumSquare>()) return reduced<ops::ReduceSumSquare>(&MeasureForms::sum_of_squares);
    if (op.is<ops::ReduceLogSum>()) return reduced<ops::ReduceLogSum>(&MeasureForms::log_sum);
    if (op.is<ops::ReduceLogSumExp>()) return reduced<ops::ReduceLogSumExp>(&MeasureForms::log_sum_exp);
    if (op.is<ops::LogSoftmax>()) return log_softmax(ops::LogSoftmax(op.node()));
    if (op.is<ops::LpNormalization>()) return of_length_one(ops::LpNormalization(op.node()));
    if (op.is<ops::MeanVarianceNormalization>()) return standardized(ops::MeanVarianceNormalization(op.node()));
    if (op.is<ops::LocalResponseNorm>()) return response_norm(ops::LocalResponseNorm(op.node()));
    return {};
  }

  template <class Reduction>
  Value reduced(Value (MeasureForms::*form)(Value x, const SummedAxes& axes)) {
    const SummedAxes axes = summed_axes(Reduction(old_.node()));
    return count_of(axes) > 0 ? (this->*form)(old_.in(0), axes) : Value();
  }

  Value sum_of_magnitudes(Value x, const SummedAxes& axes) { return total(insert(ops::Abs::record(), {x}), axes); }
  Value sum_of_squares(Value x, const SummedAxes& axes) { return total(product(x, x), axes); }
  Value length(Value x, const SummedAxes& axes) { return power_of_total(product(x, x), axes, 0.5); }
  Value log_sum(Value x, const SummedAxes& axes) { return insert(ops::Log::record(), {total(x, axes)}); }

  Value log_sum_exp(Value x, const SummedAxes& axes) {
    if (axes.list.empty()) return insert(ops::Identity::record(), {x});
    const auto [below, largest] = below_largest(x, axes.list);
    const Value top = axes.keep_dims ? largest : insert(ops::Squeeze::record(), {largest}, {{"axes", axes.list}});
    return insert(ops::Add::record(), {log_sum(insert(ops::Exp::record(), {below}), axes), top});
  }

  Value log_softmax(const ops::LogSoftmax& softmax) {
    const size_t rank = softmax.x().dims().size();
    const auto axis =
        static_cast<size_t>(softmax.axis() < 0 ? softmax.axis() + static_cast<int64_t>(rank) : softmax.axis());
    const SummedAxes axes{axes_from(axis, softmax.flattened() ? rank : axis + 1), true};
    if (count_of(axes) <= 0) return {};
    const Value below = below_largest(softmax.x(), axes.list).first;
    return insert(ops::Sub::record(), {below, log_sum(insert(ops::Exp::record(), {below}), axes)});
  }

  /// x minus its largest element along the axes, and that element.
  std::pair<Value, Value> below_largest(Value x, const Ints& axes) {
    const Value largest = insert(ops::ReduceMax::record(), {x}, {{"axes", axes}, {"keep_dims", true}});
    return {insert(ops::Sub::record(), {x, largest}), largest};
  }

  /// The least number keeps a row of zeros, whose norm is 0.
  Value of_length_one(const ops::LpNormalization& norm) {
    constexpr double kLeast = 1e-38;
    const Value x = norm.x();
    const SummedAxes axes{{norm.axis()}, true};
    if (count_of(axes) <= 0) return {};
    const Value inverse = norm.p() == 1 ? power_of_total(insert(ops::Abs::record(), {x}), axes, -1, kLeast)
                                        : power_of_total(product(x, x), axes, -0.5, kLeast);
    return product(x, inverse);
  }

  Value standardized(const ops::MeanVarianceNormalization& norm) {
    constexpr double kAdded = 1e-9;
    const SummedAxes axes{norm.axes(), true};
    if (axes.list.empty() || count_of(axes) <= 0) return {};
    const Value centered = insert(ops::Sub::record(), {norm.x(), mean(norm.x(), axes)});
    const Value deviation = insert(ops::Sqrt::record(), {mean(product(centered, centered), axes)});
    return product(centered, power(deviation, -1, 1, kAdded));
  }

  /// The window over channels is one over rows of an image that has a row for each channel.
  Value response_norm(const ops::LocalResponseNorm& norm) {
    const Value x = norm.x();
    const Dims& dims = x.dims();
    if (std::ranges::any_of(dims.begin() + 1, dims.end(), [](int64_t extent) { return extent <= 0; })) return {};
    const int64_t size = norm.size(), added = size - 1;
    Value y = insert(ops::Pad::record(), {product(x, x), {}}, {{"pads", Ints{added / 2, size / 2}}, {"axes", Ints{1}}});
    const int64_t plane = count_elements(std::span(dims).subspan(2));
    y = insert(ops::Reshape::record(), {y}, {{"dims", Ints{0, 1, dims[1] + added, plane}}});
    y = insert(ops::AvgPool2d::record(), {y}, {{"kernel", Ints{size, 1}}, {"stride", Ints{1, 1}}});
    Ints image(dims.begin(), dims.end());
    image[0] = 0;
    y = insert(ops::Reshape::record(), {power(y, -norm.beta(), norm.alpha(), norm.bias())}, {{"dims", image}});
    return product(x, y);
  }

  /// The number of elements along the axes. Not positive if it is unknown or there are none.
  int64_t count_of(const SummedAxes& axes) const {
    const Dims& dims = old_.in(0).dims();
    int64_t count = 1;
    for (const int64_t axis : axes.list) {
      const int64_t extent = dims[static_cast<size_t>(axis < 0 ? axis + std::ssize(dims) : axis)];
      if (extent <= 0) return 0;
      count *= extent;
    }
    return count;
  }

  Value mean(Value x, const SummedAxes& axes) {
    if (axes.list.empty()) return x;
    return insert(ops::ReduceMean::record(), {x}, {{"axes", axes.list}, {"keep_dims", axes.keep_dims}});
  }

  Value total(Value x, const SummedAxes& axes) {
    if (axes.list.empty()) return x;
    return insert(ops::ReduceSum::record(), {x}, {{"axes", axes.list}, {"keep_dims", axes.keep_dims}});
  }

  /// (total + bias)^exponent, computed from the mean.
  Value power_of_total(Value x, const SummedAxes& axes, double exponent, double bias = 0) {
    return power(mean(x, axes), exponent, static_cast<double>(count_of(axes)), bias);
  }

  Value power(Value x, double exponent, double factor, double bias) {
    return insert(ops::AffinePower::record(), {x}, {{"alpha", exponent}, {"gamma", factor}, {"bias", bias}});
  }

  Value product(Value a, Value b) { return insert(ops::Mul::record(), {a, b}); }

  Value insert(const OpInfo& info, std::vector<Value> operands, Attributes attributes = {}) {
    return insert_before(model_.graph, old_, info, std::move(operands), std::move(attributes)).out(0);
  }

  Model& model_;
  Op old_;  ///< operator that is rewritten
};

}  // namespace

void measure_forms(Model& model) { MeasureForms(model).run(); }

}  // namespace halfstep::passes
