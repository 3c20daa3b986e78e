// Operators that sample images, blocks and boxes, losses of classes, and a few others.
#include <algorithm>
#include <cmath>

#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

const Want kImages{{DType::f32}, 4, 4, is_full};

Known floats(Maker& maker, const std::vector<double>& values) {
  Tensor tensor(DType::f32, {static_cast<int64_t>(values.size())});
  std::transform(values.begin(), values.end(), tensor.data<float>().begin(),
                 [](double v) { return static_cast<float>(v); });
  return maker.contents(tensor, 0, 4);
}

void make_resize(Maker& maker, std::string_view op) {
  const Known x = maker.any(kImages);
  std::vector<double> scales = {1, 1};
  Dims dims = x.dims;
  bool whole = true;  // extents times scales are integers. For a fraction, onnxruntime aligns other corners than the
                      // specification
  for (size_t axis = 2; axis < 4; ++axis) {
    const double scale =
        op == "Upsample" ? static_cast<double>(maker.between(1, 3)) : maker.one_of<double>({0.5, 1, 1.5, 2, 3});
    scales.push_back(scale);
    dims[axis] = static_cast<int64_t>(std::floor(static_cast<double>(x.dims[axis]) * scale));
    maker.require(dims[axis] >= 1);
    whole = whole && static_cast<double>(dims[axis]) == static_cast<double>(x.dims[axis]) * scale;
  }
  const bool linear = maker.chance(0.4);
  Attributes attributes = {{"mode", std::string(linear ? "linear" : "nearest")}};
  const Known result = x.with(dims);
  if (op == "Upsample" && maker.opset() < 9) {
    attributes["scales"] = scales;
    maker.node(op, {x}, result, attributes);
  } else if (maker.opset() < 11) {
    maker.node(op, {x, floats(maker, scales)}, result, attributes);
  } else {
    if (maker.chance(0.6))
      attributes["coordinate_transformation_mode"] = maker.one_of<std::string>(
          {"half_pixel", "asymmetric", whole ? "align_corners" : "half_pixel", "pytorch_half_pixel"});
    if (!linear && maker.chance(0.6))
      attributes["nearest_mode"] =
          maker.one_of<std::string>({"round_prefer_floor", "floor", "ceil", "round_prefer_ceil"});
    const Known roi = maker.opset() >= 13 && maker.chance(0.7) ? Maker::absent() : floats(maker, {});
    if (maker.chance(0.3) && !(maker.keeps_rows(x) && maker.style().dynamic_batch)) {
      maker.node(op, {x, roi, maker.opset() >= 13 ? Maker::absent() : floats(maker, {}), maker.ints(dims)}, result,
                 attributes);
    } else {
      maker.node(op, {x, roi, floats(maker, scales)}, result, attributes);
    }
  }
}

void make_grid_sample(Maker& maker, std::string_view op) {
  const Known x = maker.any(kImages);
  maker.require(!maker.keeps_rows(x));
  const int64_t h = maker.between(1, 4), w = maker.between(1, 4);
  const Known grid = maker.weights(DType::f32, {x.dims[0], h, w, 2}, -1.3, 1.3);
  Attributes attributes = {{"mode", maker.opset() >= 20 ? std::string(maker.chance(0.5) ? "linear" : "nearest")
                                                        : std::string(maker.chance(0.5) ? "bilinear" : "nearest")}};
  if (maker.chance(0.6)) attributes["padding_mode"] = maker.one_of<std::string>({"zeros", "border", "reflection"});
  if (maker.chance(0.5)) attributes["align_corners"] = int64_t{1};
  maker.node(op, {x, grid}, x.with({x.dims[0], x.dims[1], h, w}).between(std::min(x.low, 0.0), std::max(x.high, 0.0)),
             attributes);
}

void make_affine_grid(Maker& maker, std::string_view op) {
  const int64_t n = maker.between(1, 2), h = maker.between(2, 4),
                w = maker.between(2, 4);  // for an extent of 1, aligned corners are undefined
  const Known theta = maker.style().rows ? maker.weights(DType::f32, {n, 2, 3}, -1, 1)
                                         : maker.any({{DType::f32}, 3, 3, [](const Known& v) {
                                                        return v.dims[0] > 0 && v.dims[1] == 2 && v.dims[2] == 3;
                                                      }});
  Attributes attributes;
  if (maker.chance(0.5)) attributes["align_corners"] = int64_t{1};
  const Known grid = maker.node(op, {theta, maker.ints({theta.dims[0], 2, h, w})},
                                theta.with({theta.dims[0], h, w, 2}).between(-3, 3), attributes);
  if (grid.constant) {
    const Known x =
        maker.any({{DType::f32}, 1, 4, [](const Known& v) { return v.dims.back() == 2 || v.dims.back() == 1; }});
    maker.require(!x.rows || x.rank() == 4);
    maker.node("Mul", {x, grid},
               x.with(broadcast(x.dims, grid.dims)).between(-3 * std::abs(x.low), 3 * std::abs(x.high)));
  }
}

void make_col2im(Maker& maker, std::string_view op) {
  const int64_t block = maker.between(1, 2), h = maker.between(2, 4), w = maker.between(2, 4),
                stride = maker.between(1, 2);
  const int64_t blocks = ((h - block) / stride + 1) * ((w - block) / stride + 1);
  const Known image = maker.any({{DType::f32}, 2, 4, [&](const Known& v) { return v.dims[0] > 0 && is_full(v); }});
  const int64_t n = image.dims[0], channels = maker.between(1, 2);
  const int64_t each = image.size() / n, wanted = channels * block * block * blocks;
  // A product converts any value to as many elements as the blocks have.
  const Known rows = maker.node("Flatten", {image}, image.with({n, each}));
  const Known mixed = maker.weights(DType::f32, {each, wanted}, -1, 1);
  const double magnitude = std::max(std::abs(image.low), std::abs(image.high)) * static_cast<double>(each);
  const Known product = maker.node("MatMul", {rows, mixed}, rows.with({n, wanted}).between(-magnitude, magnitude));
  const Known x = maker.node("Reshape", {product, maker.ints({0, channels * block * block, blocks})},
                             product.with({n, channels * block * block, blocks}));
  maker.node(op, {x, maker.ints({h, w}), maker.ints({block, block})},
             x.with({n, channels, h, w}).between(-4 * magnitude, 4 * magnitude), {{"strides", Dims{stride, stride}}});
}

void make_roi_align(Maker& maker, std::string_view op) {
  const Known x = maker.any(kImages);
  maker.require(!maker.keeps_rows(x));
  const int64_t regions = maker.between(1, 3), h = maker.between(1, 3), w = maker.between(1, 3);
  Tensor boxes(DType::f32, {regions, 4});
  for (int64_t i = 0; i < regions; ++i) {
    const auto row = boxes.data<float>().subspan(static_cast<size_t>(4 * i), 4);
    row[0] = static_cast<float>(maker.real(0, 3)), row[1] = static_cast<float>(maker.real(0, 3));
    row[2] = row[0] + static_cast<float>(maker.real(0.5, 4)), row[3] = row[1] + static_cast<float>(maker.real(0.5, 4));
  }
  const Known which = maker.weights(DType::i64, {regions}, 0, static_cast<double>(x.dims[0] - 1));
  Attributes attributes = {{"output_height", h}, {"output_width", w}};
  if (maker.chance(0.5)) attributes["sampling_ratio"] = maker.between(0, 2);
  if (maker.chance(0.3)) attributes["mode"] = std::string("max");
  if (maker.opset() >= 16 && maker.chance(0.5))
    attributes["coordinate_transformation_mode"] = std::string(maker.chance(0.5) ? "half_pixel" : "output_half_pixel");
  maker.node(op, {x, maker.contents(boxes, 0, 8), which}, x.with({regions, x.dims[1], h, w}), attributes);
}

/// For computed floats, bits may differ although the numbers hardly do.
void make_bit_cast(Maker& maker, std::string_view op) {
  const auto is_exact = [](const Known& v) { return v.constant || v.dtype == DType::i32; };
  const Known x = maker.any({{DType::f32, DType::i32}, 0, 5, is_exact});
  const DType to = x.dtype == DType::f32 ? DType::i32 : DType::f32;
  maker.node(op, {x}, x.with(to).between(-1e9, 1e9), {{"to", formats::onnx::onnx_type_of(to)}});
}

void make_det(Maker& maker, std::string_view op) {
  const Known x =
      maker.any({{DType::f32}, 2, 4, [&](const Known& v) {
                   return is_full(v) && v.dims.back() == v.dims[v.dims.size() - 2] && (!v.rows || v.rank() > 2);
                 }});
  maker.node(op, {x}, x.with(Dims(x.dims.begin(), x.dims.end() - 2)).between(-100, 100));
}

void make_loss(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 2, 3, [](const Known& v) { return is_full(v); }});
  maker.require(!maker.keeps_rows(x));
  const int64_t classes = x.dims[1];
  Dims places = x.dims;
  places.erase(places.begin() + 1);
  const Known target = maker.weights(DType::i64, places, 0, static_cast<double>(classes - 1));
  std::vector<Known> inputs = {
      op == "NegativeLogLikelihoodLoss" ? maker.node("LogSoftmax", {x}, x.between(-20, 0), {{"axis", int64_t{1}}}) : x,
      target};
  if (maker.chance(0.4)) inputs.push_back(maker.weights(DType::f32, {classes}, 0.2, 2));
  Attributes attributes;
  const auto reduction = maker.one_of<std::string>({"mean", "sum", "none"});
  if (reduction != "mean" || maker.chance(0.4)) attributes["reduction"] = reduction;
  if (maker.chance(0.2)) attributes["ignore_index"] = maker.between(0, classes);
  maker.node(op, inputs, x.with(reduction == "none" ? places : Dims{}).between(0, 20), attributes);
}

}  // namespace

Recipes sampling_recipes() {
  return {{"Resize", make_resize, Home::floats, 10},
          {"Upsample", make_resize, Home::floats, 7, 9},
          {"GridSample", make_grid_sample, Home::floats, 16},  // listed three times, because few of the newer opsets
                                                               // support them
          {"GridSample", make_grid_sample, Home::floats, 16},
          {"GridSample", make_grid_sample, Home::floats, 16},
          {"AffineGrid", make_affine_grid, Home::floats, 20},
          {"AffineGrid", make_affine_grid, Home::floats, 20},
          {"AffineGrid", make_affine_grid, Home::floats, 20},
          {"Col2Im", make_col2im, Home::floats, 18},
          {"RoiAlign", make_roi_align, Home::floats, 10},
          {"BitCast", make_bit_cast, Home::floats, 26},
          {"Det", make_det, Home::floats, 11},
          {"NegativeLogLikelihoodLoss", make_loss, Home::floats, 13},
          {"SoftmaxCrossEntropyLoss", make_loss, Home::floats, 13}};
}

}  // namespace halfstep::fuzz
