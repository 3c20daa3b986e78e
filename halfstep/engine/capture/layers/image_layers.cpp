#include "halfstep/engine/capture/layers/image_layers.h"

#include <fmt/format.h>

#include <map>

#include "halfstep/core/base/status.h"
#include "halfstep/engine/capture/apply.h"
#include "halfstep/engine/capture/errors.h"

namespace halfstep::capture {
namespace {

using layers::Axes;
using layers::by_axis;

/// Weights with `fan_in` products for each result.
struct Kernel {
  Dims dims;
  int64_t fan_in;
};

Kernel kernel_of(int64_t first, int64_t second, const Axes& kernel) {
  Kernel made{{first, second}, second};
  for (const int64_t extent : kernel) {
    made.dims.push_back(extent);
    made.fan_in *= extent;
  }
  return made;
}

/// The number of groups of channels.
int64_t divisor(const std::string& name, int64_t groups, int64_t in, int64_t out) {
  if (groups < 1 || in % groups != 0 || out % groups != 0)
    fail(errors::layer_setting_invalid(name + ": groups", std::to_string(groups),
                                       fmt::format("a divisor of {} and {} channels", in, out)));
  return groups;
}

Axes twice(const Axes& numbers) {
  Axes both = numbers;
  both.insert(both.end(), numbers.begin(), numbers.end());
  return both;
}

std::string pad_mode(const std::string& name, const std::string& mode) {
  static const std::map<std::string, std::string> kModes = {
      {"zeros", "constant"}, {"reflect", "reflect"}, {"replicate", "edge"}, {"circular", "wrap"}};
  const auto found = kModes.find(mode);
  if (found == kModes.end())
    fail(errors::layer_setting_invalid(name + ": padding_mode", fmt::format("'{}'", mode),
                                       "zeros, reflect, replicate or circular"));
  return found->second;
}

Array filled(int64_t count, double value) { return full({DType::f32, {count}}, value); }

}  // namespace

Conv::Conv(const std::string& name, size_t axes, int64_t in, int64_t out, const Axes& kernel,
           const ConvOptions& options)
    : how_{by_axis(options.stride, axes, name + ": stride"), by_axis(options.dilation, axes, name + ": dilation"),
           twice(by_axis(options.padding, axes, name + ": padding")), divisor(name, options.groups, in, out),
           pad_mode(name, options.padding_mode)} {
  const Kernel made = kernel_of(out, in / options.groups, by_axis(kernel, axes, name + ": kernel_size"));
  weight = parameter("weight", within(made.dims, made.fan_in));
  if (options.bias) bias = parameter("bias", within({out}, made.fan_in));
}

Array Conv::operator()(const Array& x) { return layers::conv(x, weight, bias, how_); }

Conv1d::Conv1d(int64_t in, int64_t out, const Axes& kernel, const ConvOptions& options)
    : Conv("Conv1d", 1, in, out, kernel, options) {}

Conv2d::Conv2d(int64_t in, int64_t out, const Axes& kernel, const ConvOptions& options)
    : Conv("Conv2d", 2, in, out, kernel, options) {}

Conv2d::Conv2d(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t pad)
    : Conv2d(in, out, Axes{kernel}, {.stride = {stride}, .padding = {pad}}) {}

Conv3d::Conv3d(int64_t in, int64_t out, const Axes& kernel, const ConvOptions& options)
    : Conv("Conv3d", 3, in, out, kernel, options) {}

ConvTranspose::ConvTranspose(const std::string& name, size_t axes, int64_t in, int64_t out, const Axes& kernel,
                             const ConvTransposeOptions& options)
    : how_{by_axis(options.stride, axes, name + ": stride"),
           by_axis(options.dilation, axes, name + ": dilation"),
           twice(by_axis(options.padding, axes, name + ": padding")),
           divisor(name, options.groups, in, out),
           "constant",
           by_axis(options.output_padding, axes, name + ": output_padding")} {
  const Kernel made = kernel_of(in, out / options.groups, by_axis(kernel, axes, name + ": kernel_size"));
  weight = parameter("weight", within(made.dims, made.fan_in));
  if (options.bias) bias = parameter("bias", within({out}, made.fan_in));
}

Array ConvTranspose::operator()(const Array& x) { return layers::conv_transpose(x, weight, bias, how_); }

ConvTranspose1d::ConvTranspose1d(int64_t in, int64_t out, const Axes& kernel, const ConvTransposeOptions& options)
    : ConvTranspose("ConvTranspose1d", 1, in, out, kernel, options) {}

ConvTranspose2d::ConvTranspose2d(int64_t in, int64_t out, const Axes& kernel, const ConvTransposeOptions& options)
    : ConvTranspose("ConvTranspose2d", 2, in, out, kernel, options) {}

ConvTranspose3d::ConvTranspose3d(int64_t in, int64_t out, const Axes& kernel, const ConvTransposeOptions& options)
    : ConvTranspose("ConvTranspose3d", 3, in, out, kernel, options) {}

MaxPool::MaxPool(const std::string& name, size_t axes, const Axes& kernel, const PoolOptions& options)
    : how_{by_axis(kernel, axes, name + ": kernel_size"),
           by_axis(options.stride.empty() ? kernel : options.stride, axes, name + ": stride"),
           by_axis(options.dilation, axes, name + ": dilation"),
           twice(by_axis(options.padding, axes, name + ": padding")),
           options.ceil_mode,
           options.count_include_pad} {}

Array MaxPool::operator()(const Array& x) { return layers::max_pool(x, how_); }

MaxPool1d::MaxPool1d(const Axes& kernel, const PoolOptions& options) : MaxPool("MaxPool1d", 1, kernel, options) {}

MaxPool2d::MaxPool2d(const Axes& kernel, const PoolOptions& options) : MaxPool("MaxPool2d", 2, kernel, options) {}

MaxPool2d::MaxPool2d(int64_t kernel, int64_t stride, int64_t pad)
    : MaxPool2d(Axes{kernel}, {.stride = {stride}, .padding = {pad}}) {}

MaxPool3d::MaxPool3d(const Axes& kernel, const PoolOptions& options) : MaxPool("MaxPool3d", 3, kernel, options) {}

Array AvgPool1d::operator()(const Array& x) { return layers::avg_pool(x, how_); }

Array AvgPool2d::operator()(const Array& x) { return layers::avg_pool(x, how_); }

Array AvgPool3d::operator()(const Array& x) { return layers::avg_pool(x, how_); }

InstanceNorm::InstanceNorm(int64_t channels, double epsilon, bool affine) : channels_(channels), epsilon_(epsilon) {
  if (!affine) return;
  weight = parameter("weight", filled(channels, 1));
  bias = parameter("bias", filled(channels, 0));
}

Array InstanceNorm::operator()(const Array& x) { return layers::instance_norm(x, weight, bias, channels_, epsilon_); }

GroupNorm::GroupNorm(int64_t groups, int64_t channels, double epsilon, bool affine)
    : groups_(groups), channels_(channels), epsilon_(epsilon) {
  if (!affine) return;
  weight = parameter("weight", filled(channels, 1));
  bias = parameter("bias", filled(channels, 0));
}

Array GroupNorm::operator()(const Array& x) {
  return layers::group_norm(x, weight, bias, channels_, groups_, epsilon_);
}

Prelu::Prelu(int64_t parameters, double initial) : weight(parameter("weight", filled(parameters, initial))) {}

Array Prelu::operator()(const Array& x) { return layers::prelu(x, weight); }

Upsample::Upsample(layers::Resampling how) : how_(std::move(how)) {}

Array Upsample::operator()(const Array& x) { return layers::upsample(x, how_); }

}  // namespace halfstep::capture
