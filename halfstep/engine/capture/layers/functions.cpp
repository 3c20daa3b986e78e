#include "halfstep/engine/capture/layers/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "halfstep/core/base/status.h"
#include "halfstep/engine/capture/apply.h"
#include "halfstep/engine/capture/errors.h"
#include "halfstep/engine/capture/random_arrays.h"
#include "halfstep/engine/capture/tracing.h"

namespace halfstep::capture::layers {
namespace {

size_t spatial_axes(const Array& x) { return std::max<size_t>(x.dims().size(), 2) - 2; }

/// The numbers of one axis as those of the two axes of an image of height 1. `pad` has them before and after.
Axes as_plane(const Axes& numbers, int64_t first) {
  if (numbers.size() == 1) return {first, numbers[0]};
  return {first, numbers[0], first, numbers[1]};
}

Array as_plane(const Array& x) { return reshaped(x, {0, 0, 1, -1}); }
Array as_line(const Array& x) { return reshaped(x, {0, 0, -1}); }

/// An array that a layer lacks, as equal numbers.
Array or_filled(const Array& given, const Array& x, int64_t count, double value) {
  return given ? given : full({x.dtype(), {count}}, value, x.place());
}

/// Whether the pools of images can compute the pool. Their padding is shorter than a window on both axes.
bool fits_plane(const Array& x, const Pool& how) {
  const int64_t padding = *std::ranges::max_element(how.pad);
  const int64_t shortest = spatial_axes(x) == 1 ? 1 : *std::ranges::min_element(how.kernel);
  return spatial_axes(x) <= 2 && spatial_axes(x) == how.kernel.size() && !how.ceil_mode &&
         (padding == 0 || padding < shortest) &&
         std::ranges::all_of(how.dilation, [](int64_t step) { return step == 1; });
}

Array pooled_plane(const std::string& op, const Array& x, const Pool& how, Attributes attributes) {
  if (spatial_axes(x) == 1) {
    const Pool plane{as_plane(how.kernel, 1), as_plane(how.stride, 1), {}, as_plane(how.pad, 0)};
    return as_line(pooled_plane(op, as_plane(x), plane, std::move(attributes)));
  }
  attributes.insert({{"kernel", how.kernel}, {"stride", how.stride}, {"pad", how.pad}});
  return apply(op, {x}, attributes);
}

Array pooled(const std::string& op, const Array& x, const Pool& how, Attributes attributes) {
  attributes.insert({{"kernel", how.kernel},
                     {"stride", how.stride},
                     {"dilation", how.dilation},
                     {"pad", how.pad},
                     {"ceil_mode", how.ceil_mode}});
  return apply(op, {x}, attributes);
}

/// `dims` with the extent of `like` at the position `at`.
Array reshaped_by(const Array& x, const Array& like, const Dims& dims, size_t at) {
  const auto axis = static_cast<int64_t>(at);
  return apply("reshape_by", {x, like}, {{"dims", dims}, {"at", axis}, {"axis", axis}});
}

/// Rows [-1, last] as [..., last] with the axes of `like`, which is part of a network and has dynamic extents. kUnknown
/// is the -1 of reshape.
Array split_as(const Array& rows, const Array& like, int64_t last) {
  Dims dims = like.dims();
  dims.back() = last;
  const auto first = std::ranges::find(dims, kUnknown);
  const auto at = static_cast<size_t>(first - dims.begin());
  const bool is_alone = std::find(first + 1, dims.end(), kUnknown) == dims.end();
  if (is_alone) return reshaped(rows, dims);
  dims[at] = 1;
  return reshaped_by(rows, like, dims, at);
}

struct ResizeMode {
  std::string mode;
  size_t axes;  ///< 0: any number
};

const std::map<std::string, ResizeMode> kResizeModes = {{"nearest", {"nearest", 0}},
                                                        {"linear", {"linear", 1}},
                                                        {"bilinear", {"linear", 2}},
                                                        {"trilinear", {"linear", 3}},
                                                        {"bicubic", {"cubic", 2}}};

}  // namespace

Axes by_axis(const Axes& numbers, size_t count, const std::string& setting) {
  if (numbers.size() == 1) return Axes(count, numbers[0]);
  if (numbers.size() != count)
    fail(errors::layer_setting_invalid(setting, to_string(Attribute(numbers)), fmt::format("1 or {} numbers", count)));
  return numbers;
}

Array reshaped(const Array& x, const Dims& dims) { return apply("reshape", {x}, {{"dims", dims}}); }
Array transposed(const Array& x, const Dims& perm) { return apply("transpose", {x}, {{"perm", perm}}); }

Array rows(const Array& x, int64_t first, int64_t last) {
  return apply("slice", {x}, {{"starts", Axes{first}}, {"ends", Axes{last}}, {"axes", Axes{0}}, {"steps", Axes{1}}});
}

Array linear(const Array& x, const Array& weight, const Array& bias) {
  const size_t rank = x.dims().size();
  if (rank <= 2) return apply("linear", {x, weight, bias});
  const int64_t in = weight.dims()[1], out = weight.dims()[0];
  if (std::ranges::find(x.dims(), kUnknown) != x.dims().end())
    return split_as(apply("linear", {reshaped(x, {-1, in}), weight, bias}), x, out);
  // The two axes before the last are joined, and taken apart afterwards. A 0 keeps the extent of an axis. So a captured
  // function does not depend on the extents.
  Dims joined(rank - 1, 0), apart(rank, 0);
  joined[rank - 3] = -1;
  joined[rank - 2] = in;
  apart[rank - 3] = 1;  // replaced by the extent of x
  apart[rank - 2] = -1;
  apart[rank - 1] = out;
  return reshaped_by(linear(reshaped(x, joined), weight, bias), x, apart, rank - 3);
}

Array dropout(const Array& x, double rate) {
  Switches there = switches();
  there.place = x.place();
  const Switched at_the_place(there);
  const auto number = [&](double value) { return full({x.dtype(), {}}, value); };
  note_extents(x);
  const Array is_kept = apply("greater_or_equal", {uniform(x.dims()), full({DType::f32, {}}, rate)});
  return apply("select", {is_kept, apply("div", {x, number(1 - rate)}), number(0)});
}

Array conv(const Array& x, const Array& weight, const Array& bias, const Convolution& how) {
  Convolution plain = how;
  Array padded = x;
  if (how.pad_mode != "constant") {
    Axes axes;
    for (size_t axis = 2; axis < x.dims().size(); ++axis) axes.push_back(static_cast<int64_t>(axis));
    padded = apply("pad", {x, {}}, {{"pads", how.pad}, {"axes", axes}, {"mode", how.pad_mode}});
    std::ranges::fill(plain.pad, 0);
    plain.pad_mode = "constant";
  }
  if (x.dims().size() == 3 && weight.dims().size() == 3) {
    const Convolution plane{as_plane(plain.stride, 1), as_plane(plain.dilation, 1), as_plane(plain.pad, 0), how.groups};
    return as_line(conv(as_plane(padded), as_plane(weight), bias, plane));
  }
  return apply(weight.dims().size() == 4 ? "conv2d" : "conv", {padded, weight, bias},
               {{"groups", how.groups}, {"stride", plain.stride}, {"dilation", plain.dilation}, {"pad", plain.pad}});
}

Array conv_transpose(const Array& x, const Array& weight, const Array& bias, const Convolution& how) {
  return apply("conv_transpose", {x, weight, bias},
               {{"groups", how.groups},
                {"stride", how.stride},
                {"dilation", how.dilation},
                {"pad", how.pad},
                {"output_padding", how.output_padding}});
}

Array max_pool(const Array& x, const Pool& how) {
  return fits_plane(x, how) ? pooled_plane("max_pool2d", x, how, {}) : pooled("max_pool", x, how, {});
}

Array avg_pool(const Array& x, const Pool& how) {
  const Attributes counted = {{"count_include_pad", how.count_include_pad}};
  return fits_plane(x, how) ? pooled_plane("avg_pool2d", x, how, counted) : pooled("average_pool", x, how, counted);
}

Array instance_norm(const Array& x, const Array& weight, const Array& bias, int64_t channels, double epsilon) {
  return apply("instance_norm", {x, or_filled(weight, x, channels, 1), or_filled(bias, x, channels, 0)},
               {{"epsilon", epsilon}});
}

Array group_norm(const Array& x, const Array& weight, const Array& bias, int64_t channels, int64_t groups,
                 double epsilon) {
  return apply("group_norm", {x, or_filled(weight, x, channels, 1), or_filled(bias, x, channels, 0)},
               {{"num_groups", groups}, {"epsilon", epsilon}});
}

Array prelu(const Array& x, const Array& weight) {
  Dims by_channel(spatial_axes(x) + 1, 1);
  by_channel[0] = -1;
  return apply("prelu", {x, reshaped(weight, by_channel)});
}

Array upsample(const Array& x, const Resampling& how) {
  const size_t count = spatial_axes(x);
  const auto mode = kResizeModes.find(how.mode);
  if (mode == kResizeModes.end())
    fail(errors::layer_setting_invalid("Upsample: mode", fmt::format("'{}'", how.mode),
                                       "nearest, linear, bilinear, bicubic or trilinear"));
  if (mode->second.axes != 0 && mode->second.axes != count)
    fail(errors::layer_setting_invalid("Upsample: mode",
                                       fmt::format("'{}' for an array of {} axes", how.mode, x.dims().size()),
                                       fmt::format("{} axes", mode->second.axes + 2)));
  const bool is_nearest = how.mode == "nearest";
  Attributes attributes = {{"mode", mode->second.mode},
                           {"coordinates", std::string(is_nearest          ? "asymmetric"
                                                       : how.align_corners ? "align_corners"
                                                                           : "half_pixel")},
                           {"nearest_mode", std::string(is_nearest ? "floor" : "round_prefer_floor")}};
  Axes axes;
  for (size_t axis = 0; axis < count; ++axis) axes.push_back(static_cast<int64_t>(axis) + 2);
  if (!how.size.empty()) {
    attributes.insert({{"axes", axes}, {"sizes", by_axis(how.size, count, "Upsample: size")}});
    return apply("resize", {x}, attributes);
  }
  std::vector<double> scales = how.scale.size() == 1 ? std::vector<double>(count, how.scale[0]) : how.scale;
  scales.insert(scales.begin(), 2, 1.0);  // samples and channels
  attributes["scales"] = scales;
  return apply("resize", {x}, attributes);
}

}  // namespace halfstep::capture::layers
