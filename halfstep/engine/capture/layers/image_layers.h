// Layers over spatial axes: arrays [n, c, ...] with 1, 2 or 3 axes after the channels. Names, defaults and initial
// values are those of torch.nn. Lists have one number for each axis, or one for all.
#pragma once

#include <string>

#include "halfstep/engine/capture/layers/functions.h"
#include "halfstep/engine/capture/modules.h"

namespace halfstep::capture {

struct ConvOptions {
  layers::Axes stride = {1}, padding = {0}, dilation = {1};
  int64_t groups = 1;
  bool bias = true;
  std::string padding_mode = "zeros";  ///< zeros, reflect, replicate or circular
};

/// Cross-correlation. weight [out, in / groups, kernel...] and bias [out] are initialized within 1 / sqrt(in / groups *
/// elements of the kernel).
class Conv : public Module {
 public:
  Array operator()(const Array& x) override;

  Array weight, bias;

 protected:
  Conv(const std::string& name, size_t axes, int64_t in, int64_t out, const layers::Axes& kernel,
       const ConvOptions& options);

 private:
  layers::Convolution how_;
};

class Conv1d : public Conv {
 public:
  Conv1d(int64_t in, int64_t out, const layers::Axes& kernel, const ConvOptions& options = {})
      : Conv("Conv1d", 1, in, out, kernel, options) {}
};

class Conv2d : public Conv {
 public:
  Conv2d(int64_t in, int64_t out, const layers::Axes& kernel, const ConvOptions& options)
      : Conv("Conv2d", 2, in, out, kernel, options) {}
  Conv2d(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, int64_t pad = 0)
      : Conv2d(in, out, layers::Axes{kernel}, {.stride = {stride}, .padding = {pad}}) {}
};

class Conv3d : public Conv {
 public:
  Conv3d(int64_t in, int64_t out, const layers::Axes& kernel, const ConvOptions& options = {})
      : Conv("Conv3d", 3, in, out, kernel, options) {}
};

struct ConvTransposeOptions {
  layers::Axes stride = {1}, padding = {0}, output_padding = {0};
  int64_t groups = 1;
  bool bias = true;
  layers::Axes dilation = {1};
};

/// Transposed convolution. weight [in, out / groups, kernel...] and bias [out] are initialized within 1 / sqrt(out /
/// groups * elements of the kernel).
class ConvTranspose : public Module {
 public:
  Array operator()(const Array& x) override;

  Array weight, bias;

 protected:
  ConvTranspose(const std::string& name, size_t axes, int64_t in, int64_t out, const layers::Axes& kernel,
                const ConvTransposeOptions& options);

 private:
  layers::Convolution how_;
};

class ConvTranspose1d : public ConvTranspose {
 public:
  ConvTranspose1d(int64_t in, int64_t out, const layers::Axes& kernel, const ConvTransposeOptions& options = {})
      : ConvTranspose("ConvTranspose1d", 1, in, out, kernel, options) {}
};

class ConvTranspose2d : public ConvTranspose {
 public:
  ConvTranspose2d(int64_t in, int64_t out, const layers::Axes& kernel, const ConvTransposeOptions& options = {})
      : ConvTranspose("ConvTranspose2d", 2, in, out, kernel, options) {}
};

class ConvTranspose3d : public ConvTranspose {
 public:
  ConvTranspose3d(int64_t in, int64_t out, const layers::Axes& kernel, const ConvTransposeOptions& options = {})
      : ConvTranspose("ConvTranspose3d", 3, in, out, kernel, options) {}
};

struct PoolOptions {
  layers::Axes stride = {};  ///< the kernel, if empty
  layers::Axes padding = {0};
  layers::Axes dilation = {1};  ///< of maxima
  bool ceil_mode = false;
  bool count_include_pad = true;  ///< of means
};

/// The largest element of each window, over 1 to 3 axes.
class MaxPool : public Module {
 public:
  Array operator()(const Array& x) override { return layers::max_pool(x, how_); }

 protected:
  MaxPool(const std::string& name, size_t axes, const layers::Axes& kernel, const PoolOptions& options);

  layers::Pool how_;
};

class MaxPool1d : public MaxPool {
 public:
  explicit MaxPool1d(const layers::Axes& kernel, const PoolOptions& options = {})
      : MaxPool("MaxPool1d", 1, kernel, options) {}
};

class MaxPool2d : public MaxPool {
 public:
  explicit MaxPool2d(const layers::Axes& kernel, const PoolOptions& options = {})
      : MaxPool("MaxPool2d", 2, kernel, options) {}
  MaxPool2d(int64_t kernel, int64_t stride, int64_t pad = 0)
      : MaxPool2d(layers::Axes{kernel}, {.stride = {stride}, .padding = {pad}}) {}
};

class MaxPool3d : public MaxPool {
 public:
  explicit MaxPool3d(const layers::Axes& kernel, const PoolOptions& options = {})
      : MaxPool("MaxPool3d", 3, kernel, options) {}
};

/// The mean of each window.
class AvgPool1d : public MaxPool1d {
 public:
  using MaxPool1d::MaxPool1d;
  Array operator()(const Array& x) override { return layers::avg_pool(x, how_); }
};

class AvgPool2d : public MaxPool2d {
 public:
  using MaxPool2d::MaxPool2d;
  Array operator()(const Array& x) override { return layers::avg_pool(x, how_); }
};

class AvgPool3d : public MaxPool3d {
 public:
  using MaxPool3d::MaxPool3d;
  Array operator()(const Array& x) override { return layers::avg_pool(x, how_); }
};

/// Normalizes each channel of each sample, over any number of axes. With `affine`, weight (first 1) and bias (first 0)
/// scale and move the channels.
class InstanceNorm : public Module {
 public:
  explicit InstanceNorm(int64_t channels, double epsilon = 1e-5, bool affine = false);
  Array operator()(const Array& x) override;

  Array weight, bias;

 private:
  int64_t channels_;
  double epsilon_;
};

/// Normalizes groups of neighbouring channels.
class GroupNorm : public Module {
 public:
  GroupNorm(int64_t groups, int64_t channels, double epsilon = 1e-5, bool affine = true);
  Array operator()(const Array& x) override;

  Array weight, bias;

 private:
  int64_t groups_, channels_;
  double epsilon_;
};

/// x, or below zero weight * x, with one weight or one for each channel.
class Prelu : public Module {
 public:
  explicit Prelu(int64_t parameters = 1, double initial = 0.25);
  Array operator()(const Array& x) override { return layers::prelu(x, weight); }

  Array weight;
};

/// Other spatial extents: by `size`, or by factors.
class Upsample : public Module {
 public:
  explicit Upsample(layers::Resampling how) : how_(std::move(how)) {}
  Array operator()(const Array& x) override { return layers::upsample(x, how_); }

 private:
  layers::Resampling how_;
};

}  // namespace halfstep::capture
