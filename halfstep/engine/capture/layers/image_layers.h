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
  Conv1d(int64_t in, int64_t out, const layers::Axes& kernel, const ConvOptions& options = {});
};

class Conv2d : public Conv {
 public:
  Conv2d(int64_t in, int64_t out, const layers::Axes& kernel, const ConvOptions& options);
  Conv2d(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, int64_t pad = 0);
};

class Conv3d : public Conv {
 public:
  Conv3d(int64_t in, int64_t out, const layers::Axes& kernel, const ConvOptions& options = {});
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
  ConvTranspose1d(int64_t in, int64_t out, const layers::Axes& kernel, const ConvTransposeOptions& options = {});
};

class ConvTranspose2d : public ConvTranspose {
 public:
  ConvTranspose2d(int64_t in, int64_t out, const layers::Axes& kernel, const ConvTransposeOptions& options = {});
};

class ConvTranspose3d : public ConvTranspose {
 public:
  ConvTranspose3d(int64_t in, int64_t out, const layers::Axes& kernel, const ConvTransposeOptions& options = {});
};

struct PoolOptions {
  layers::Axes stride = {};  ///< the kernel, if empty
  layers::Axes padding = {0};
  layers::Axes dilation = {1};  ///< for maxima
  bool ceil_mode = false;
  bool count_include_pad = true;  ///< for means
};

/// The largest element of each window, over 1 to 3 axes.
class MaxPool : public Module {
 public:
  Array operator()(const Array& x) override;

 protected:
  MaxPool(const std::string& name, size_t axes, const layers::Axes& kernel, const PoolOptions& options);

  layers::Pool how_;
};

class MaxPool1d : public MaxPool {
 public:
  explicit MaxPool1d(const layers::Axes& kernel, const PoolOptions& options = {});
};

class MaxPool2d : public MaxPool {
 public:
  explicit MaxPool2d(const layers::Axes& kernel, const PoolOptions& options = {});
  MaxPool2d(int64_t kernel, int64_t stride, int64_t pad = 0);
};

class MaxPool3d : public MaxPool {
 public:
  explicit MaxPool3d(const layers::Axes& kernel, const PoolOptions& options = {});
};

/// The mean of each window.
class AvgPool1d : public MaxPool1d {
 public:
  using MaxPool1d::MaxPool1d;
  Array operator()(const Array& x) override;
};

class AvgPool2d : public MaxPool2d {
 public:
  using MaxPool2d::MaxPool2d;
  Array operator()(const Array& x) override;
};

class AvgPool3d : public MaxPool3d {
 public:
  using MaxPool3d::MaxPool3d;
  Array operator()(const Array& x) override;
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
  Array operator()(const Array& x) override;

  Array weight;
};

/// Other spatial extents: by `size`, or by factors.
class Upsample : public Module {
 public:
  explicit Upsample(layers::Resampling how);
  Array operator()(const Array& x) override;

 private:
  layers::Resampling how_;
};

}  // namespace halfstep::capture
