// Float operators, with values that were computed by hand or that ONNX's specification states.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "halfstep/core/ir/op_info.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/engine/compile/evaluate_operation.h"
#include "halfstep/engine/eager/call.h"
#include "halfstep/engine/kernels/errors.h"
#include "tests/support/error.h"

namespace halfstep::eager {
namespace {

using test::diagnostic_of;
using test::name_of;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

using Floats = std::vector<float>;
using Wholes = std::vector<int64_t>;

Tensor floats(const Dims& dims, const Floats& values) { return Tensor::of<float>(DType::f32, dims, values); }
Tensor wholes(const Dims& dims, const Wholes& values) { return Tensor::of<int64_t>(DType::i64, dims, values); }

std::vector<Tensor> run(const char* op, const std::vector<Tensor>& operands, const Attributes& attributes = {}) {
  return call(*find_operator(op), attributes, operands);
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  const auto values = tensor.data<T>();
  return {values.begin(), values.end()};
}

void expect_floats(const Tensor& found, const Dims& dims, const Floats& expected, float tolerance = 0) {
  ASSERT_EQ(found.dims(), dims);
  const Floats values = values_of<float>(found);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(values[i])) << i;
    } else {
      EXPECT_TRUE(values[i] == expected[i] || std::fabs(values[i] - expected[i]) <= tolerance)
          << i << ": " << values[i] << ", expected " << expected[i];
    }
  }
}

// A11.5
TEST(FloatOperators, CastHoldsAndWraps) {
  const Tensor x = floats({6}, {-1.9F, 300.5F, kNan, kInf, -kInf, 0.5F});
  EXPECT_EQ(values_of<uint8_t>(run("cast", {x}, {{"to", std::string("u8")}})[0]),
            (std::vector<uint8_t>{0, 255, 0, 255, 0, 0}));
  EXPECT_EQ(values_of<int64_t>(run("cast", {x}, {{"to", std::string("i64")}})[0]),
            (Wholes{-1, 300, 0, INT64_MAX, INT64_MIN, 0}));
  EXPECT_EQ(values_of<int8_t>(run("cast", {wholes({3}, {200, -129, 8})}, {{"to", std::string("i8")}})[0]),
            (std::vector<int8_t>{-56, 127, 8}));
  EXPECT_EQ(values_of<int8_t>(run("cast", {wholes({3}, {7, 8, -9})}, {{"to", std::string("i4")}})[0]),
            (std::vector<int8_t>{7, -8, 7}));
  const Tensor between = Tensor::of<double>(DType::f64, {1}, std::vector<double>{1 + 0x1p-11 + 0x1p-40});
  EXPECT_EQ(run("cast", {between}, {{"to", std::string("f16")}})[0].data<uint16_t>()[0],
            0x3C01);  // through f32: 0x3C00
}

// A11.4
TEST(FloatOperators, IntegersNeverTrap) {
  const Tensor lowest = wholes({2}, {INT64_MIN, 7}), minus = wholes({2}, {-1, 0});
  EXPECT_EQ(values_of<int64_t>(run("div", {lowest, minus})[0]), (Wholes{INT64_MIN, 0}));
  EXPECT_EQ(values_of<int64_t>(run("modulo", {lowest, minus})[0]), (Wholes{0, 0}));
  EXPECT_EQ(values_of<int64_t>(run("abs", {lowest})[0]), (Wholes{INT64_MIN, 7}));
  EXPECT_EQ(values_of<int64_t>(run("modulo", {wholes({4}, {-7, 7, -7, 7}), wholes({4}, {3, -3, -3, 3})})[0]),
            (Wholes{2, -2, -1, 1}));
  EXPECT_EQ(values_of<int64_t>(run("power", {wholes({4}, {-2, -1, 2, 0}), wholes({4}, {3, -3, -1, 0})})[0]),
            (Wholes{-8, -1, 0, 1}));
}

// A11.6
TEST(FloatOperators, NanTravels) {
  const Tensor x = floats({3}, {kNan, 1, 2}), y = floats({3}, {0, kNan, 3});
  expect_floats(run("max_of", {x, y})[0], {3}, {kNan, kNan, 3});
  expect_floats(run("min_of", {x, y})[0], {3}, {kNan, kNan, 2});
  expect_floats(run("clip", {x, floats({}, {1.5F}), {}})[0], {3}, {kNan, 1.5F, 2});
  expect_floats(run("reduce_max", {x})[0], {1}, {kNan});
  EXPECT_EQ(values_of<int64_t>(run("arg_max", {x})[0]), (Wholes{0}));
  const auto top = run("top_k", {floats({4}, {1, kNan, 3, 3})}, {{"k", int64_t{3}}});
  expect_floats(top[0], {3}, {kNan, 3, 3});
  EXPECT_EQ(values_of<int64_t>(top[1]), (Wholes{1, 2, 3}));
}

// A11.7
TEST(FloatOperators, ReductionsOfNothing) {
  const Tensor none = floats({2, 0}, {});
  const Attributes rows = {{"axes", Wholes{1}}, {"keep_dims", false}};
  expect_floats(run("reduce_sum", {none}, rows)[0], {2}, {0, 0});
  expect_floats(run("reduce_prod", {none}, rows)[0], {2}, {1, 1});
  expect_floats(run("reduce_max", {none}, rows)[0], {2}, {-kInf, -kInf});
  expect_floats(run("reduce_min", {none}, rows)[0], {2}, {kInf, kInf});
  expect_floats(run("reduce_mean", {none}, rows)[0], {2}, {kNan, kNan});
  expect_floats(run("reduce_log_sum_exp", {none}, rows)[0], {2}, {-kInf, -kInf});
  expect_floats(run("reduce_log_sum_exp", {floats({1, 2}, {1000, 1000})}, rows)[0], {1}, {1000 + std::log(2.0F)});
}

TEST(FloatOperators, ReductionsOverAnyAxes) {
  Floats counted(24);
  for (size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<float>(i);
  const Tensor x = floats({2, 3, 4}, counted);
  expect_floats(run("reduce_sum", {x}, {{"axes", Wholes{0, 2}}})[0], {3}, {60, 92, 124});
  expect_floats(run("reduce_max", {x}, {{"axes", Wholes{1}}})[0], {2, 1, 4}, {8, 9, 10, 11, 20, 21, 22, 23});
  expect_floats(run("reduce_l1", {x}, {{"axes", Wholes{-1}}, {"keep_dims", false}})[0], {2, 3},
                {6, 22, 38, 54, 70, 86});
  expect_floats(run("cumsum", {x}, {{"axis", int64_t{1}}, {"reverse", true}, {"exclusive", true}})[0], {2, 3, 4},
                {12, 14, 16, 18, 8, 9, 10, 11, 0, 0, 0, 0, 36, 38, 40, 42, 20, 21, 22, 23, 0, 0, 0, 0});
}

TEST(FloatOperators, ElementsMove) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_floats(run("slice", {x},
                    {{"starts", Wholes{-1}}, {"ends", Wholes{-100}}, {"axes", Wholes{1}}, {"steps", Wholes{-2}}})[0],
                {2, 2}, {3, 1, 6, 4});
  expect_floats(run("pad", {x, {}}, {{"pads", Wholes{0, 2, 0, 1}}, {"mode", std::string("reflect")}})[0], {2, 6},
                {3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5});
  expect_floats(run("pad", {x, floats({}, {9})}, {{"pads", Wholes{1, -1}}, {"axes", Wholes{1}}})[0], {2, 3},
                {9, 1, 2, 9, 4, 5});
  expect_floats(run("pad", {x, {}}, {{"pads", Wholes{-1, 1}}, {"axes", Wholes{1}}, {"mode", std::string("wrap")}})[0],
                {2, 3}, {2, 3, 2, 5, 6, 5});
  expect_floats(run("tile", {x}, {{"repeats", Wholes{1, 2}}})[0], {2, 6}, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  expect_floats(run("expand", {floats({2, 1}, {1, 2})}, {{"dims", Wholes{2, 1, 2}}})[0], {2, 2, 2},
                {1, 1, 2, 2, 1, 1, 2, 2});
  expect_floats(run("trilu", {floats({2, 2}, {1, 2, 3, 4})}, {{"upper", false}})[0], {2, 2}, {1, 0, 3, 4});
  expect_floats(run("center_crop_pad", {x}, {{"dims", Wholes{1, 6}}})[0], {1, 6}, {0, 1, 2, 3, 0, 0});
  expect_floats(
      run("depth_to_space", {floats({1, 4, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7})}, {{"block_size", int64_t{2}}})[0],
      {1, 1, 2, 4}, {0, 2, 1, 3, 4, 6, 5, 7});
}

TEST(FloatOperators, IndicesAreChecked) {
  const Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_floats(run("gather", {x, wholes({2}, {-1, 0})})[0], {2, 2}, {5, 6, 1, 2});
  EXPECT_EQ(diagnostic_of([&] {
              run("gather", {x, wholes({1}, {3})});
            }),
            errors::operand_index_out_of_range("call: gather: index 0", 3, "-3 to 2"));
  const Tensor indices = wholes({2, 2}, {1, 1, 1, 2}), updates = floats({2, 2}, {10, 20, 30, 40});
  expect_floats(run("scatter_elements", {x, indices, updates}, {{"reduction", std::string("add")}})[0], {3, 2},
                {1, 2, 43, 24, 5, 46});
  expect_floats(run("scatter_elements", {x, indices, updates})[0], {3, 2}, {1, 2, 30, 20, 5, 40});
  expect_floats(run("gather_nd", {x, wholes({2, 2}, {0, 1, 2, -2})})[0], {2}, {2, 5});
  EXPECT_EQ(diagnostic_of([&] {
              run("scatter_nd", {x, wholes({1, 1}, {-4}), floats({1, 2}, {0, 0})});
            }),
            errors::operand_index_out_of_range("call: scatter_nd: index 0", -4, "-3 to 2"));
}

TEST(FloatOperators, Pools) {
  Floats counted(16);
  for (size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<float>(i + 1);
  const Tensor x = floats({1, 1, 4, 4}, counted);
  const Attributes windows = {{"kernel", Wholes{3, 3}}, {"stride", Wholes{2, 2}}, {"ceil_mode", true}};
  Attributes with_indices = windows;
  with_indices["with_indices"] = true;
  with_indices["storage_order"] = int64_t{1};
  const auto largest = run("max_pool", {x}, with_indices);
  expect_floats(largest[0], {1, 1, 2, 2}, {11, 12, 15, 16});
  EXPECT_EQ(values_of<int64_t>(largest[1]), (Wholes{10, 14, 11, 15}));
  expect_floats(run("average_pool", {x}, windows)[0], {1, 1, 2, 2}, {6, 7.5F, 12, 13.5F});
  Attributes padded = {{"kernel", Wholes{3, 3}}, {"stride", Wholes{4, 4}}, {"pad", Wholes{1, 1, 0, 0}}};
  expect_floats(run("average_pool", {x}, padded)[0], {1, 1, 1, 1}, {3.5F});
  padded["count_include_pad"] = true;
  expect_floats(run("average_pool", {x}, padded)[0], {1, 1, 1, 1}, {14.0F / 9}, 1e-6F);
  const Attributes pairs = {{"kernel", Wholes{2, 2}}, {"stride", Wholes{2, 2}}};
  expect_floats(run("max_unpool", {floats({1, 1, 1, 2}, {1, 2}), wholes({1, 1, 1, 2}, {5, 2})}, pairs)[0], {1, 1, 2, 4},
                {0, 0, 2, 0, 0, 1, 0, 0});
}

TEST(FloatOperators, ConvolutionsAndTheirTranspose) {
  const Tensor x = floats({1, 1, 3}, {1, 2, 3}), w = floats({1, 1, 2}, {10, 1});
  expect_floats(run("conv", {x, w, {}}, {{"auto_pad", std::string("same_upper")}})[0], {1, 1, 3}, {12, 23, 30});
  expect_floats(run("conv", {x, w, floats({1}, {0.5F})}, {{"dilation", Wholes{2}}})[0], {1, 1, 1}, {13.5F});
  expect_floats(run("conv_transpose", {x, w, {}}, {{"stride", Wholes{2}}})[0], {1, 1, 6}, {10, 1, 20, 2, 30, 3});
  expect_floats(run("conv_transpose", {x, w, {}},
                    {{"stride", Wholes{2}}, {"pad", Wholes{1, 0}}, {"output_padding", Wholes{1}}})[0],
                {1, 1, 6}, {1, 20, 2, 30, 3, 0});
}

TEST(FloatOperators, Resizes) {
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  expect_floats(
      run("resize", {x},
          {{"scales", std::vector<double>{2, 2}}, {"axes", Wholes{2, 3}}, {"mode", std::string("linear")}})[0],
      {1, 1, 4, 4}, {1, 1.25F, 1.75F, 2, 1.5F, 1.75F, 2.25F, 2.5F, 2.5F, 2.75F, 3.25F, 3.5F, 3, 3.25F, 3.75F, 4});
  const Tensor rows = floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  expect_floats(run("resize", {rows},
                    {{"scales", std::vector<double>{1, 1, 0.6, 0.6}},
                     {"mode", std::string("linear")},
                     {"coordinates", std::string("align_corners")}})[0],
                {1, 1, 1, 2}, {1, 3.142857F}, 1e-6F);
  expect_floats(run("resize", {rows}, {{"sizes", Wholes{1, 1, 1, 3}}})[0], {1, 1, 1, 3}, {1, 2, 4});
}

TEST(FloatOperators, OneStepOfALstm) {
  // All weights are 0: the gates depend on the biases alone, and the cell starts at 2.
  const Tensor x = floats({1, 1, 1}, {1}), w = floats({1, 4, 1}, {0, 0, 0, 0}), r = floats({1, 4, 1}, {0, 0, 0, 0});
  const Tensor b = floats({1, 8}, {1, 2, 3, 4, 0, 0, 0, 0}), h = floats({1, 1, 1}, {0}), c = floats({1, 1, 1}, {2});
  const auto out = run("lstm", {x, w, r, b, {}, h, c, {}});
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  const double cell = sigmoid(3) * 2 + sigmoid(1) * std::tanh(4);
  expect_floats(out[2], {1, 1, 1}, {static_cast<float>(cell)}, 1e-6F);
  expect_floats(out[1], {1, 1, 1}, {static_cast<float>(sigmoid(2) * std::tanh(cell))}, 1e-6F);
  EXPECT_EQ(name_of([&] {
              run("lstm", {x, w, r}, {{"activations", std::vector<std::string>{"Tanh", "Tanh", "Cube"}}});
            }),
            "no_kernel");
}

// A11.9
TEST(FloatOperators, Attention) {
  const Tensor q = floats({1, 1, 2, 1}, {0, 0}), k = floats({1, 1, 2, 1}, {1, 2}), v = floats({1, 1, 2, 1}, {3, 5});
  expect_floats(run("attention", {q, k, v})[0], {1, 1, 2, 1}, {4, 4});
  expect_floats(run("attention", {q, k, v}, {{"is_causal", true}})[0], {1, 1, 2, 1}, {3, 4});
  Tensor mask(DType::boolean, {2, 2});
  mask.data<bool>()[1] = true;
  expect_floats(run("attention", {q, k, v, mask})[0], {1, 1, 2, 1}, {5, 0});
}

TEST(FloatOperators, EinsumAndProducts) {
  const Tensor a = floats({2, 2}, {1, 2, 3, 4});
  expect_floats(run("einsum", {a}, {{"equation", std::string("ii")}})[0], {}, {5});
  expect_floats(run("einsum", {a, a}, {{"equation", std::string("ij,kj->ik")}})[0], {2, 2}, {5, 11, 11, 25});
  expect_floats(
      run("gemm", {a, a, floats({2, 1}, {10, 20})}, {{"alpha", 0.5}, {"beta", 2.0}, {"transpose_b", true}})[0], {2, 2},
      {22.5F, 25.5F, 45.5F, 52.5F});
  expect_floats(run("matmul_broadcast", {a, floats({2}, {1, 10})})[0], {2}, {21, 43});
}

TEST(FloatOperators, NonMaximumSuppression) {
  const Tensor boxes = floats({1, 4, 4}, {0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, 10, 1, 11, 1, 101, 0, 100});
  const Tensor scores = floats({1, 1, 4}, {0.9F, 0.75F, 0.6F, 0.95F});
  const auto out = run("non_maximum_suppression", {boxes, scores},
                       {{"max_output_boxes_per_class", int64_t{3}}, {"iou_threshold", 0.5}, {"score_threshold", 0.7}});
  EXPECT_EQ(values_of<int64_t>(out[1]), (Wholes{2}));
  EXPECT_EQ(values_of<int64_t>(out[0]), (Wholes{0, 0, 3, 0, 0, 0, -1, -1, -1}));
}

TEST(FloatOperators, SamplingAndDeterminants) {
  expect_floats(run("determinant", {floats({2, 2, 2}, {1, 2, 3, 4, 0, 2, 3, 0})})[0], {2}, {-2, -6}, 1e-6F);
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor grid = floats({1, 1, 3, 2}, {0, 0, -1, -1, 3, 0});
  expect_floats(run("grid_sample", {x, grid}, {{"align_corners", true}})[0], {1, 1, 1, 3}, {2.5F, 1, 0});
  expect_floats(run("grid_sample", {x, grid}, {{"align_corners", true}, {"padding", std::string("border")}})[0],
                {1, 1, 1, 3}, {2.5F, 1, 3});
  expect_floats(run("space_to_depth", {floats({1, 1, 2, 2}, {1, 2, 3, 4})}, {{"block_size", int64_t{2}}})[0],
                {1, 4, 1, 1}, {1, 2, 3, 4});
}

TEST(FloatOperators, LossesLeaveOutWhatIsIgnored) {
  const Tensor x = floats({3, 2}, {-1, -2, -3, -4, -5, -6}), target = wholes({3}, {0, 1, 1});
  const Tensor weight = floats({2}, {1, 3});
  expect_floats(run("negative_log_likelihood", {x, target, weight})[0], {}, {(1 + 12 + 18) / 7.0F}, 1e-6F);
  expect_floats(run("negative_log_likelihood", {x, target, weight}, {{"ignore_index", int64_t{1}}})[0], {}, {1});
  EXPECT_EQ(diagnostic_of([&] {
              run("negative_log_likelihood", {x, wholes({3}, {0, 2, 0})});
            }),
            errors::operand_index_out_of_range("call: negative_log_likelihood: target 1", 2, "0 to 1"));
  const auto both =
      run("softmax_cross_entropy_loss", {floats({1, 2}, {0, 0}), wholes({1}, {1})}, {{"with_log_probabilities", true}});
  expect_floats(both[0], {}, {std::log(2.0F)}, 1e-6F);
  expect_floats(both[1], {1, 2}, {-std::log(2.0F), -std::log(2.0F)}, 1e-6F);
}

Wholes list(int64_t value) { return {value}; }

TEST(FloatOperators, SlicesGoBackwardsFromTheFirstElementAtLeast) {
  const Tensor x = floats({4}, {1, 2, 3, 4});
  const auto slice = [&](int64_t start, int64_t end, int64_t step) {
    return run("slice", {x}, {{"starts", list(start)}, {"ends", list(end)}, {"steps", list(step)}})[0];
  };
  expect_floats(slice(-9, -10, -1), {1}, {1});
  expect_floats(slice(INT64_MIN, INT64_MIN, INT64_MIN), {1}, {1});
  expect_floats(slice(-4, -9, -1), {1}, {1});
  expect_floats(slice(-9, 0, -1), {0}, {});
  expect_floats(slice(9, -9, -3), {2}, {4, 1});
  expect_floats(slice(-9, 9, 2), {2}, {1, 3});
}

/// The samples that roi_align takes for one bin that covers the whole region, one by one.
double sampled(const Tensor& x, double top, double left, double height, double width, bool largest) {
  const int64_t h = x.dims()[2], w = x.dims()[3];
  const auto plane = x.data<float>();
  const int64_t rows = static_cast<int64_t>(std::ceil(height)), columns = static_cast<int64_t>(std::ceil(width));
  double sum = 0, most = -1e300;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const double y = top + (static_cast<double>(i / columns) + 0.5) * height / static_cast<double>(rows);
    const double at = left + (static_cast<double>(i % columns) + 0.5) * width / static_cast<double>(columns);
    const bool inside = y >= -1 && y <= static_cast<double>(h) && at >= -1 && at <= static_cast<double>(w);
    if (!inside) most = std::max(most, 0.0);
    if (!inside) continue;
    const double row = std::clamp(y, 0.0, static_cast<double>(h - 1));
    const double column = std::clamp(at, 0.0, static_cast<double>(w - 1));
    for (const double dy : {0.0, 1.0}) {
      for (const double dx : {0.0, 1.0}) {
        const auto from_y = std::min(static_cast<int64_t>(row) + static_cast<int64_t>(dy), h - 1);
        const auto from_x = std::min(static_cast<int64_t>(column) + static_cast<int64_t>(dx), w - 1);
        const double weight =
            std::fabs(1 - dy - (row - std::floor(row))) * std::fabs(1 - dx - (column - std::floor(column)));
        sum += weight * plane[static_cast<size_t>(from_y * w + from_x)];
        most = std::max(most, weight * plane[static_cast<size_t>(from_y * w + from_x)]);
      }
    }
  }
  return largest ? most : sum / static_cast<double>(rows * columns);
}

TEST(FloatOperators, RegionsMayBeFarLargerThanTheImage) {
  const Tensor x = floats({1, 1, 3, 4}, {5, -2, 3, 4, 1, 7, -8, 2, 6, 0, 1, -3}), first = wholes({1}, {0});
  for (const Floats& box :
       {Floats{-70, -35, 210, 290}, Floats{1, 1, 90, 2}, Floats{-9, 2.5F, -4, 300}, Floats{0.25F, 0.5F, 3.75F, 2.5F}}) {
    for (const char* mode : {"avg", "max"}) {
      const bool largest = mode == std::string("max");
      const auto found = run("roi_align", {x, floats({1, 4}, box), first}, {{"mode", std::string(mode)}});
      expect_floats(
          found[0], {1, 1, 1, 1},
          {static_cast<float>(sampled(x, box[1] - 0.5, box[0] - 0.5, box[3] - box[1], box[2] - box[0], largest))},
          1e-6F);
    }
  }
  const Tensor ones = floats({1, 1, 2, 2}, {1, 1, 1, 1});
  expect_floats(run("roi_align", {ones, floats({1, 4}, {0, 0, 1e6F, 1e6F}), first})[0], {1, 1, 1, 1}, {9e-12F}, 1e-17F);
}

TEST(FloatOperators, RegionsWithoutBoundsAreRefused) {
  const Tensor x = floats({1, 1, 2, 2}, {1, 1, 1, 1}), first = wholes({1}, {0});
  const auto error = [&](const Floats& box) {
    return diagnostic_of([&] { run("roi_align", {x, floats({1, 4}, box), first}); });
  };
  const auto too_large = [](double height, double width) {
    Diagnostic one = errors::region_too_large(0, height, width, 1048576);
    one.where = "call: roi_align: " + one.where;
    return one;
  };
  EXPECT_EQ(error({0, 0, 1e30F, 5}), too_large(5, 1.0000000150474662e+30));
  EXPECT_EQ(error({0, 0, 5, kInf}), too_large(kInf, 5));
  EXPECT_EQ(error({0, kNan, 5, 5}).entry, &errors::region_too_large_entry);
}

TEST(FloatOperators, NumbersWithoutBoundsAreRefusedOrLieNowhere) {
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto resize = [&](const std::vector<double>& scales, const std::vector<double>& roi = {}) {
    const std::string coordinates = roi.empty() ? "half_pixel" : "tf_crop_and_resize";
    return name_of([&] { run("resize", {x}, {{"scales", scales}, {"roi", roi}, {"coordinates", coordinates}}); });
  };
  EXPECT_EQ(resize({1, 1, 2, 2}), "");
  EXPECT_EQ(resize({1, 1, kNan, 2}), "attribute_out_of_range");
  EXPECT_EQ(resize({1, 1, -2, 2}), "attribute_out_of_range");
  EXPECT_EQ(resize({1, 1, kInf, 2}), "too_much_work");
  EXPECT_EQ(name_of([&] {
              run("resize", {x},
                  {{"scales", std::vector<double>{1, 1, 2, 2}},
                   {"roi", std::vector<double>{0, 0, kNan, 0, 1, 1, 1, 1}},
                   {"coordinates", std::string("tf_crop_and_resize")}});
            }),
            "no_kernel");
  const Graph graph = parse(
      "graph g(x: f32[1, 1, 2, 2]) { r = resize(x=x) {scales: [1, 1, 2, 2], roi: [0, 0, inf, 0, 1, 1, 1, 1], "
      "coordinates: \"tf_crop_and_resize\"} return r }");
  EXPECT_EQ(name_of([&] { compiler::evaluate(graph.op("r"), {x}); }), "attribute_does_not_fit");
  EXPECT_EQ(
      name_of([&] {
        run("resize", {x}, {{"sizes", Wholes{1, 1, int64_t{1} << 62, 1}}, {"policy", std::string("not_smaller")}});
      }),
      "too_much_work");
  const Tensor nowhere = floats({1, 1, 1, 2}, {kNan, kNan});
  expect_floats(run("grid_sample", {x, nowhere})[0], {1, 1, 1, 1}, {0});
  expect_floats(run("grid_sample", {x, nowhere}, {{"padding", std::string("border")}})[0], {1, 1, 1, 1}, {1});
}

TEST(FloatOperators, EinsumHasABoundOnItsProducts) {
  const Tensor x(DType::f32, {1024});
  EXPECT_EQ(name_of([&] {
              run("einsum", {x, x, x, x, x}, {{"equation", std::string("a,b,c,d,e->")}});
            }),
            "too_much_work");
}

TEST(FloatOperators, WindowsMayBeFarWiderThanTheImage) {
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  constexpr int64_t kWide = int64_t{1} << 30;
  const Attributes attributes = {
      {"kernel", Wholes{kWide, kWide}}, {"stride", Wholes{kWide, kWide}}, {"pad", Wholes{4, 4, kWide - 6, kWide - 6}}};
  expect_floats(run("max_pool2d", {x}, attributes)[0], {1, 1, 1, 1}, {4});
  expect_floats(run("avg_pool2d", {x}, attributes)[0], {1, 1, 1, 1}, {10.0F / (static_cast<float>(kWide) * kWide)});
}

}  // namespace
}  // namespace halfstep::eager
