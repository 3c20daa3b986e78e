#include "tests/equivalence/plain_evaluator.h"

#include <cmath>
#include <stdexcept>

#include "halfstep/core/ir/ops.h"
#include "tests/equivalence/plain_numbers.h"

namespace halfstep::test {
namespace {

class Evaluator {
 public:
  Evaluator(const Model& model, const Tensor& x) : model_(model) {
    const Value argument = model.graph.arguments().front();
    Plain input;
    input.dims = x.dims();
    for (const float v : x.data<float>()) input.floats.push_back(v);
    values_[argument.name()] = input;
    for (Op op : model.graph.ops()) evaluate(op);
  }

  std::map<std::string, std::vector<int64_t>> codes;

 private:
  const Tensor& tensor(Value value) const { return model_.tensors.at(value.name()); }

  Plain& at(Value value) { return values_.at(value.name()); }

  void evaluate(Op op) {
    const std::string& name = op.info().name;
    if (name == "observe_range" || name == "power_of_two_scale") return;
    Plain result;
    if (name == "fake_quantize") {
      const ops::FakeQuantize q(op.node());
      result = q.x().is_tensor() ? weight_codes(q) : activation_codes(q);
      codes[op.name()] = result.numbers;
    } else if (name == "conv2d") {
      result = convolve(ops::Conv2d(op.node()));
    } else if (name == "linear") {
      result = multiply(ops::Linear(op.node()));
    } else if (name == "add") {
      result = add(ops::Add(op.node()));
    } else if (name == "max_pool2d") {
      result = max_pool(ops::MaxPool2d(op.node()));
    } else if (name == "global_avg_pool") {
      result = global_average(ops::GlobalAvgPool(op.node()));
    } else if (name == "relu" || name == "relu6" || name == "leaky_relu") {
      result = at(op.in(0));
      result.relu = name != "leaky_relu";
      result.relu6 = name == "relu6";
      if (name == "leaky_relu") result.alpha = ops::LeakyRelu(op.node()).alpha();
    } else if (name == "slice") {
      result = slice(ops::Slice(op.node()));
    } else if (name == "pad") {
      result = pad(ops::Pad(op.node()));
    } else if (name == "flatten" || name == "reshape") {
      result = at(op.in(0));
      result.dims = {result.dims[0], size_of_dims(result.dims) / result.dims[0]};
    } else {
      throw std::runtime_error("the plain evaluator does not know " + name);
    }
    values_[op.name()] = std::move(result);
  }

  float scale_of(const ops::FakeQuantize& q, int64_t channel) const {
    Value scale = q.scale();
    const bool rounded = !scale.is_tensor();
    if (rounded) scale = scale.producer().in(0);
    const auto values = tensor(scale).data<float>();
    const float s = values[values.size() == 1 ? 0 : static_cast<size_t>(channel)];
    return rounded ? static_cast<float>(std::ldexp(1.0, static_cast<int>(half_even(std::log2(static_cast<double>(s))))))
                   : s;
  }

  /// Weight scale of a channel, raised so that its bias fits (docs/arithmetic.md, section 4). Found by search instead
  /// of a formula.
  float raised(const ops::FakeQuantize& q, int64_t channel, double x_scale, const Tensor* bias,
               bool power_of_two) const {
    float s = scale_of(q, channel);
    if (bias == nullptr) return s;
    const bool shared = tensor_count(q) == 1;
    for (int64_t c = 0; c < bias->size(); ++c) {
      if (!shared && c != channel) continue;
      const double b = std::fabs(static_cast<double>(bias->data<float>()[static_cast<size_t>(c)]));
      const double least = b / (x_scale * 1073741824.0);
      if (!(static_cast<double>(s) < least)) continue;
      s = static_cast<float>(least);
      while (static_cast<double>(s) < least) s = std::nextafter(s, INFINITY);
      if (power_of_two) s = static_cast<float>(std::exp2(std::ceil(std::log2(static_cast<double>(s)))));
    }
    return s;
  }

  int64_t tensor_count(const ops::FakeQuantize& q) const {
    const Value scale = q.scale().is_tensor() ? q.scale() : q.scale().producer().in(0);
    return tensor(scale).size();
  }

  int64_t code_of(float x, float scale, int64_t zero, const ops::FakeQuantize& q) const {
    const float steps = q.method() == "divide" ? x / scale : x * (1.0F / scale);
    if (std::isnan(steps)) return q.code_min();
    if (std::isinf(steps)) return steps > 0 ? q.code_max() : q.code_min();
    const double code = round_as(steps, q.rounding()) + static_cast<double>(zero);
    return static_cast<int64_t>(
        std::fmax(static_cast<double>(q.code_min()), std::fmin(static_cast<double>(q.code_max()), code)));
  }

  /// Needs the x_scale and the bias of the layer that reads the codes, before it quantizes the weight. See
  /// `prepare_weight`.
  Plain weight_codes(const ops::FakeQuantize& q) {
    const Op reader = q.out().uses().front().first;
    const int bias_port = reader.info().quant.bias;
    const Value bias_value = reader.in(bias_port);
    const Tensor* bias = bias_value ? &tensor(bias_value) : nullptr;
    const Plain& x = at(reader.in(0));
    const bool power_of_two = closing_quantizer(reader).requantize() == "power_of_two";
    Plain result;
    result.kind = Plain::Kind::codes;
    result.dims = q.x().dims();
    const auto w = tensor(q.x()).data<float>();
    const int64_t channels = result.dims[0];
    const int64_t each = static_cast<int64_t>(w.size()) / channels;
    for (int64_t o = 0; o < channels; ++o) {
      const float s = raised(q, o, x.scale, bias, power_of_two);
      result.unit.push_back(s);
      for (int64_t k = 0; k < each; ++k)
        result.numbers.push_back(code_of(w[static_cast<size_t>(o * each + k)], s, 0, q));
    }
    return result;
  }

  /// The quantizer at the end of the chain behind a weighted operation.
  static ops::FakeQuantize closing_quantizer(Op op) {
    while (true) {
      Op next;
      for (const auto& [user, operand] : op.out(0).uses()) {
        if (user.info().name != "observe_range") next = user;
      }
      if (next.info().name == "fake_quantize") return ops::FakeQuantize(next.node());
      op = next;
    }
  }

  Plain convolve(const ops::Conv2d& op) {
    const Plain& x = at(op.x());
    const Plain& w = at(op.w());
    const int64_t n = x.dims[0], c = x.dims[1], h = x.dims[2], width = x.dims[3];
    const int64_t o = w.dims[0], i = w.dims[1], kh = w.dims[2], kw = w.dims[3];
    Plain y;
    y.kind = Plain::Kind::sum;
    y.dims = {n, o, op.out().dims()[2], op.out().dims()[3]};
    y.dims[2] = (h + op.pad()[0] + op.pad()[2] - op.dilation()[0] * (kh - 1) - 1) / op.stride()[0] + 1;
    y.dims[3] = (width + op.pad()[1] + op.pad()[3] - op.dilation()[1] * (kw - 1) - 1) / op.stride()[1] + 1;
    const auto zero = static_cast<int64_t>(x.zero);
    for (int64_t b = 0; b < n; ++b)
      for (int64_t oc = 0; oc < o; ++oc)
        for (int64_t r = 0; r < y.dims[2]; ++r)
          for (int64_t s = 0; s < y.dims[3]; ++s) {
            int64_t sum = bias_code(op.b(), x, w, oc);
            for (int64_t ic = 0; ic < i; ++ic)
              for (int64_t p = 0; p < kh; ++p)
                for (int64_t q = 0; q < kw; ++q) {
                  const int64_t row = r * op.stride()[0] - op.pad()[0] + p * op.dilation()[0];
                  const int64_t column = s * op.stride()[1] - op.pad()[1] + q * op.dilation()[1];
                  if (row < 0 || row >= h || column < 0 || column >= width) continue;
                  const int64_t channel = oc / (o / op.groups()) * i + ic;
                  const int64_t code = x.numbers[static_cast<size_t>(((b * c + channel) * h + row) * width + column)];
                  sum += (code - zero) * w.numbers[static_cast<size_t>(((oc * i + ic) * kh + p) * kw + q)];
                }
            y.numbers.push_back(sum);
          }
    for (const double s : w.unit) y.unit.push_back(x.scale * s);
    y.groups = op.groups();
    y.depthwise = op.groups() > 1 && i == 1 && o == op.groups();
    keep_for_engine(op, op.b(), x, w, y);
    return y;
  }

  /// An engine adds the bias after the sum, so this subtracts it from the numbers again.
  void keep_for_engine(Op op, Value bias, const Plain& x, const Plain& w, Plain& y) {
    if (!is_engine(closing_quantizer(op).requantize())) return;
    const int64_t channels = y.dims[1], each = size_of_dims(y.dims) / (y.dims[0] * channels);
    for (int64_t c = 0; c < channels; ++c) {
      y.x_scale.push_back(static_cast<float>(x.scale));
      y.w_scale.push_back(static_cast<float>(w.unit[static_cast<size_t>(c)]));
      y.bias.push_back(bias ? tensor(bias).data<float>()[static_cast<size_t>(c)] : 0.0F);
    }
    for (int64_t k = 0; k < size_of_dims(y.dims); ++k)
      y.numbers[static_cast<size_t>(k)] -= bias_code(bias, x, w, k / each % channels);
  }

  Plain multiply(const ops::Linear& op) {
    const Plain& x = at(op.x());
    const Plain& w = at(op.w());
    Plain y;
    y.kind = Plain::Kind::sum;
    y.dims = {x.dims[0], w.dims[0]};
    for (int64_t b = 0; b < x.dims[0]; ++b)
      for (int64_t o = 0; o < w.dims[0]; ++o) {
        int64_t sum = bias_code(op.b(), x, w, o);
        for (int64_t k = 0; k < w.dims[1]; ++k)
          sum += (x.numbers[static_cast<size_t>(b * w.dims[1] + k)] - static_cast<int64_t>(x.zero)) *
                 w.numbers[static_cast<size_t>(o * w.dims[1] + k)];
        y.numbers.push_back(sum);
      }
    for (const double s : w.unit) y.unit.push_back(x.scale * s);
    keep_for_engine(op, op.b(), x, w, y);
    return y;
  }

  int64_t bias_code(Value bias, const Plain& x, const Plain& w, int64_t channel) const {
    if (!bias) return 0;
    const double b = tensor(bias).data<float>()[static_cast<size_t>(channel)];
    return static_cast<int64_t>(half_even(b / (x.scale * w.unit[static_cast<size_t>(channel)])));
  }

  Plain add(const ops::Add& op) {
    const Plain& a = at(op.a());
    const Plain& b = at(op.b());
    Plain y;
    y.kind = Plain::Kind::sum;
    y.dims = a.dims;
    for (const int64_t code : a.numbers) y.numbers.push_back(code - static_cast<int64_t>(a.zero));
    for (const int64_t code : b.numbers) y.other.push_back(code - static_cast<int64_t>(b.zero));
    y.unit = {a.scale};
    y.other_unit = b.scale;
    y.zero_a = static_cast<int64_t>(a.zero);
    y.zero_b = static_cast<int64_t>(b.zero);
    return y;
  }

  Plain max_pool(const ops::MaxPool2d& op) {
    const Plain& x = at(op.x());
    const int64_t h = x.dims[2], w = x.dims[3];
    Plain y = x;
    y.numbers.clear();
    y.dims[2] = (h + op.pad()[0] + op.pad()[2] - op.kernel()[0]) / op.stride()[0] + 1;
    y.dims[3] = (w + op.pad()[1] + op.pad()[3] - op.kernel()[1]) / op.stride()[1] + 1;
    for (int64_t plane = 0; plane < x.dims[0] * x.dims[1]; ++plane)
      for (int64_t r = 0; r < y.dims[2]; ++r)
        for (int64_t s = 0; s < y.dims[3]; ++s) {
          int64_t best = INT64_MIN;
          for (int64_t p = 0; p < op.kernel()[0]; ++p)
            for (int64_t q = 0; q < op.kernel()[1]; ++q) {
              const int64_t row = r * op.stride()[0] - op.pad()[0] + p, column = s * op.stride()[1] - op.pad()[1] + q;
              if (row >= 0 && row < h && column >= 0 && column < w)
                best = std::max(best, x.numbers[static_cast<size_t>((plane * h + row) * w + column)]);
            }
          y.numbers.push_back(best);
        }
    return y;
  }

  /// Slices all four axes, with step 1.
  Plain slice(const ops::Slice& op) {
    const Plain& x = at(op.x());
    Plain y = x;
    y.dims = op.out().dims();
    y.dims[0] = x.dims[0];
    y.numbers.clear();
    std::vector<int64_t> first(4, 0), step(4, 1);
    for (size_t i = 0; i < op.axes().size(); ++i) {
      first[static_cast<size_t>(op.axes()[i])] = op.starts()[i];
      step[static_cast<size_t>(op.axes()[i])] = op.steps()[i];
    }
    for (int64_t i = 0; i < size_of_dims(y.dims); ++i) {
      int64_t rest = i, from = 0, stride = 1;
      for (size_t axis = 4; axis-- > 0;) {
        from += (first[axis] + rest % y.dims[axis] * step[axis]) * stride;
        rest /= y.dims[axis];
        stride *= x.dims[axis];
      }
      y.numbers.push_back(x.numbers[static_cast<size_t>(from)]);
    }
    return y;
  }

  /// Pads channels before and after.
  Plain pad(const ops::Pad& op) {
    const Plain& x = at(op.x());
    const int64_t before = op.pads()[1], after = op.pads()[5], plane = x.dims[2] * x.dims[3];
    Plain y = x;
    y.dims[1] += before + after;
    y.numbers.assign(static_cast<size_t>(size_of_dims(y.dims)), static_cast<int64_t>(x.zero));
    for (int64_t n = 0; n < x.dims[0]; ++n) {
      for (int64_t k = 0; k < x.dims[1] * plane; ++k)
        y.numbers[static_cast<size_t>((n * y.dims[1] + before) * plane + k)] =
            x.numbers[static_cast<size_t>(n * x.dims[1] * plane + k)];
    }
    return y;
  }

  Plain global_average(const ops::GlobalAvgPool& op) {
    const Plain& x = at(op.x());
    const int64_t window = x.dims[2] * x.dims[3];
    Plain y;
    y.kind = Plain::Kind::sum;
    y.dims = {x.dims[0], x.dims[1], 1, 1};
    for (int64_t plane = 0; plane < x.dims[0] * x.dims[1]; ++plane) {
      int64_t sum = 0;
      for (int64_t k = 0; k < window; ++k)
        sum += x.numbers[static_cast<size_t>(plane * window + k)] - static_cast<int64_t>(x.zero);
      y.numbers.push_back(sum);
    }
    y.unit = {x.scale};
    pool_window_ = window;
    return y;
  }

  Plain activation_codes(const ops::FakeQuantize& q) {
    const Plain& x = at(q.x());
    const float scale = scale_of(q, 0);
    const int64_t zero = tensor(q.zero_point()).data<int32_t>()[0];
    Plain y;
    y.kind = Plain::Kind::codes;
    y.dims = x.dims;
    y.scale = scale;
    y.zero = static_cast<double>(zero);
    if (x.kind == Plain::Kind::real) {
      for (const double v : x.floats) y.numbers.push_back(code_of(static_cast<float>(v), scale, zero, q));
      return y;
    }
    int64_t low = q.code_min(), high = q.code_max();
    if (x.relu) low = std::max(low, zero);
    if (x.relu6) {
      const double six = is_engine(q.requantize()) ? static_cast<double>(product(6.0F, quotient(1.0F, scale)))
                                                   : 6.0 / static_cast<double>(scale);
      high = std::max(low, std::min(high, static_cast<int64_t>(half_even(six)) + zero));
    }
    for (size_t i = 0; i < x.numbers.size(); ++i) {
      const int64_t code = requantized(q, x, i, scale) + zero;
      y.numbers.push_back(std::max(low, std::min(high, code)));
    }
    return y;
  }

  int64_t requantized(const ops::FakeQuantize& q, const Plain& x, size_t i, double y_scale) const {
    const int bits = static_cast<int>(q.multiplier_bits());
    const bool in_float = q.requantize() == "float32";
    const int64_t zero = tensor(q.zero_point()).data<int32_t>()[0];
    if (!x.other.empty() && is_engine(q.requantize()))
      return engine_sum(x, i, static_cast<float>(y_scale), zero) - zero;
    if (!x.other.empty() && in_float) {
      return sum_in_float(x, i, static_cast<float>(y_scale), zero) - zero;
    }
    if (!x.other.empty()) {
      const Factor larger = factor_of(std::max(x.unit[0], x.other_unit) / y_scale, bits);
      const double a = half_even(x.unit[0] / y_scale * std::ldexp(1.0, larger.shift));
      const double b = half_even(x.other_unit / y_scale * std::ldexp(1.0, larger.shift));
      const __int128 sum = static_cast<__int128>(x.numbers[i]) * static_cast<int64_t>(a) +
                           static_cast<__int128>(x.other[i]) * static_cast<int64_t>(b);
      return without_bits(sum, larger.shift, q.shift_rounding());
    }
    const bool pool = x.dims.size() == 4 && x.dims[2] == 1 && x.dims[3] == 1 && x.unit.size() == 1;
    const auto per_channel = static_cast<size_t>(size_of_dims(x.dims) / (x.dims[0] * x.dims[1]));
    const size_t channel = x.unit.size() == 1 ? 0 : i / per_channel % static_cast<size_t>(x.dims[1]);
    if (!x.bias.empty())
      return engine_code(x, q.requantize(), channel, x.numbers[i], static_cast<float>(y_scale), zero) - zero;
    if (is_engine(q.requantize())) {  // the add is a mean
      const float ratio = quotient(static_cast<float>(x.unit[0]), static_cast<float>(y_scale));
      return scaled_in_float(x.numbers[i], quotient(ratio, once(pool_window_)));
    }
    if (in_float) {
      const auto unit = static_cast<float>(x.unit[channel]);  // the product of two scales, or one of them
      const float divisor = pool ? once(static_cast<__float128>(y_scale) * pool_window_) : static_cast<float>(y_scale);
      return scaled_in_float(x.numbers[i], once(static_cast<__float128>(unit) / divisor));
    }
    double factor = pool ? x.unit[0] / (y_scale * static_cast<double>(pool_window_)) : x.unit[channel] / y_scale;
    if (x.numbers[i] < 0) factor *= x.alpha;
    return scaled(x.numbers[i], factor_of(factor, q.requantize() == "power_of_two" ? 31 : bits), q.shift_rounding());
  }

  /// The sum of docs/arithmetic.md, section 9, qlinear_add, before the clamp.
  static int64_t sum_in_float(const Plain& x, size_t i, float y_scale, int64_t zero) {
    const float ra = once(static_cast<__float128>(x.unit[0]) / y_scale);
    const float rb = once(static_cast<__float128>(x.other_unit) / y_scale);
    const float b_zero = once(static_cast<__float128>(rb) * x.zero_b);
    const float zeros = once(static_cast<__float128>(ra) * x.zero_a + b_zero);
    const float fixed = once(static_cast<__float128>(zero) - zeros);
    const float inner = once(static_cast<__float128>(x.other[i] + x.zero_b) * rb + fixed);
    return static_cast<int64_t>(half_even(once(static_cast<__float128>(x.numbers[i] + x.zero_a) * ra + inner)));
  }

  const Model& model_;
  std::map<std::string, Plain> values_;
  int64_t pool_window_ = 1;
};

}  // namespace

std::map<std::string, std::vector<int64_t>> plain_codes(const Model& prepared, const Tensor& x) {
  return Evaluator(prepared, x).codes;
}

}  // namespace halfstep::test
