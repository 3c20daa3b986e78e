// Windows without weights.
#include <fmt/format.h>

#include <set>

#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/c/errors.h"
#include "halfstep/formats/c/operators.h"
#include "halfstep/formats/c/scales.h"

namespace halfstep::formats::c {
namespace {

Dims dims_of(const std::vector<int64_t>& list) { return {list.begin(), list.end()}; }

struct Average {
  const ops::IntegerAvgPool2d& op;
  const Dims& x = op.x().dims();
  const Dims& y = op.out().dims();

  bool covers_image() const {
    return op.kernel()[0] == x[2] && op.kernel()[1] == x[3] &&
           std::ranges::all_of(op.pad(), [](int64_t p) { return p == 0; });
  }
  /// Returns the number of elements of window `o` along an axis that lie in the image.
  int64_t inside(size_t axis, int64_t o) const {
    const int64_t begin = o * op.stride()[axis] - op.pad()[axis];
    return std::min(x[2 + axis], begin + op.kernel()[axis]) - std::max<int64_t>(0, begin);
  }
  /// Returns the divisors of windows in ascending order.
  std::vector<int64_t> counts() const {
    if (op.count_include_pad()) return {op.kernel()[0] * op.kernel()[1]};
    std::set<int64_t> rows, columns, all;
    for (int64_t o = 0; o < y[2]; ++o) rows.insert(inside(0, o));
    for (int64_t o = 0; o < y[3]; ++o) columns.insert(inside(1, o));
    for (const int64_t row : rows) {
      for (const int64_t column : columns) all.insert(row * column);
    }
    return {all.begin(), all.end()};
  }
};

StoredFactors float_factors(const ops::IntegerAvgPool2d& op, const std::vector<int64_t>& counts) {
  const auto x = static_cast<float>(op.x_scale()), y = static_cast<float>(op.y_scale());
  StoredFactors factors;
  for (const int64_t count : counts) {
    const auto n = static_cast<float>(count);
    const float product = y * n, ratio = x / y;
    factors.factors.push_back(is_engine(op) ? ratio / n : x / product);
  }
  return factors;
}

StoredFactors fixed_factors(const ops::IntegerAvgPool2d& op, const std::vector<int64_t>& counts) {
  StoredFactors factors;
  for (const int64_t count : counts) {
    const auto& edges = op.edge_counts();
    const auto edge = std::ranges::find(edges, count);
    const auto i = static_cast<size_t>(edge - edges.begin());
    if (edge == edges.end() && count != op.kernel()[0] * op.kernel()[1])
      fail(errors::c_window_count(op.where(), count));
    factors.multipliers.push_back(edge == edges.end() ? op.multiplier() : op.edge_multipliers()[i]);
    factors.shifts.push_back(edge == edges.end() ? op.shift() : op.edge_shifts()[i]);
  }
  return factors;
}

/// Returns the scale of windows that sum float values, as only onnxruntime's form does.
Scale mean_scale(Body& body, const ops::IntegerAvgPool2d& op, const std::vector<int64_t>& counts) {
  body.uses_floats = true;
  body.kernels.use("scalar/nearest");
  const std::string fields = "    const float *count;\n    float x_scale, y_scale;\n";
  body.kernels.use(
      "scalar/float_scale",
      {{"what", "a sum of real values over a count, as in onnxruntime"},
       {"fields", fields},
       {"scale", "scale_mean"},
       {"code", "code_mean"},
       {"sum", "float"},
       {"steps",
        "    const float mean = whole / q->count[channel];\n    const float steps = mean / q->y_scale;\n"
        "    const float placed = steps + (float)q->zero_point;\n    const int32_t code = nearest(placed);\n"}});
  const std::vector<float> divisors(counts.begin(), counts.end());
  const std::string count = body.numbers(name_of(op.name(), "count"), std::span<const float>(divisors));
  const std::string object = body.object(
      name_of(op.name(), "q"), "scale_mean",
      fmt::format(".count = {}, .x_scale = {}, .y_scale = {}, {}", count, c_number(static_cast<float>(op.x_scale())),
                  c_number(static_cast<float>(op.y_scale())), clamp_text(op)),
      28);
  return {"scale_mean", "code_mean", "float", "&" + object};
}

}  // namespace

std::string window_object(Body& body, Op op, Value x, Value y, const WindowText& window) {
  const bool is_image = x.dims().size() == 4;
  const Dims in = is_image ? x.dims() : Dims{1, x.dims()[1], 1, x.dims()[0]};  // rows are a line of pixels
  const Dims out = is_image ? y.dims() : Dims{1, y.dims()[1], 1, y.dims()[0]};
  return "&" +
         body.object(name_of(op.name(), "window"), "window",
                     fmt::format(".images = {}, .height = {}, .width = {}, .channels = {},\n    .out_height = {}, "
                                 ".out_width = {}, .outputs = {},\n    .kernel_height = {}, .kernel_width = {}, "
                                 ".stride_y = {}, .stride_x = {}, .dilation_y = {}, .dilation_x = {},\n    .top = "
                                 "{}, .left = {}, .groups = {}",
                                 in[0], in[2], in[3], in[1], out[2], out[3], out[1], window.kernel[0], window.kernel[1],
                                 window.stride[0], window.stride[1], window.dilation[0], window.dilation[1],
                                 window.pad[0], window.pad[1], window.groups),
                     64);
}

void add_max_pool(Body& body, Op op) {
  const ops::MaxPool2d pool(op.node());
  const Words words = {{"x", c_type(pool.x().dtype())}, {"x_tag", tag(pool.x().dtype())}};
  body.kernels.use("window");
  body.kernels.use("max_pool", words);
  const std::string window = window_object(
      body, op, pool.x(), pool.out(), {dims_of(pool.kernel()), dims_of(pool.stride()), {1, 1}, dims_of(pool.pad()), 1});
  const std::string x = body.read(pool.x()), y = body.write(pool.out());
  body.say(fmt::format("max_pool_{}({}, {}, {});", words.at("x_tag"), x, y, window));
}

void add_average(Body& body, Op op) {
  const ops::IntegerAvgPool2d pool(op.node());
  if (pool.layout() != "channels_first") fail(errors::c_compiled_program(op.where()));
  const Average average{pool};
  const std::vector<int64_t> counts = average.counts();
  const bool adds_floats = scales_in_float(op) && !is_engine(op) && !average.covers_image();
  constexpr int64_t kFarthest = 131071;  // maximum distance of a 16-bit code from a zero point
  const int64_t elements = pool.kernel()[0] * pool.kernel()[1];
  const bool is_wide = !scales_in_float(op) && elements > INT32_MAX / kFarthest;
  const Scale scale =
      adds_floats
          ? mean_scale(body, pool, counts)
          : plain_scale(body, op, scales_in_float(op) ? float_factors(pool, counts) : fixed_factors(pool, counts),
                        is_wide, elements * largest_magnitude(pool.x(), pool.x_zero_point()));
  Words words = scale.words();
  words["x"] = c_type(pool.x().dtype());
  words["y"] = c_type(pool.out().dtype());
  words["add_element"] =
      adds_floats
          ? "{\n                                const float real = (float)((int32_t)from[c] - zero) * q->x_scale;\n"
            "                                sums[c] += real;\n                            }"
          : "sums[c] += (int32_t)from[c] - zero;";
  words["pool"] =
      fmt::format("avg_pool_{}_{}_{}", tag(pool.x().dtype()), tag(pool.out().dtype()), scale.code.substr(5));
  body.kernels.use("window");
  body.kernels.use("avg_pool", words);
  const std::string window = window_object(
      body, op, pool.x(), pool.out(), {dims_of(pool.kernel()), dims_of(pool.stride()), {1, 1}, dims_of(pool.pad()), 1});
  const std::string divisors = body.numbers(name_of(op.name(), "counts"), "int32_t", counts, 4);
  const std::string x = body.read(pool.x()), y = body.write(pool.out());
  body.say(fmt::format("{}({}, {}, {}, {}, {}, {}, {});", words["pool"], x, y, window, pool.x_zero_point(),
                       pool.count_include_pad() ? 1 : 0, divisors, scale.object));
}

}  // namespace halfstep::formats::c
