// Layers with parameters, and what moves them: networks written in C++.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/capture/array.h"

namespace halfstep::capture {

/// A part of a network with arrays of its own. Layers tell training from evaluation by the switches. Initial values are
/// drawn by `uniform`, so that `seed` says them, in the order in which the members stand here.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  virtual Array operator()(const Array& x) = 0;

  /// Parameters and buffers by name, those of parts with the name of the part in front: "0.weight".
  std::vector<std::pair<std::string, Array>> named_arrays() const;
  /// Those that require a gradient.
  Arrays parameters() const;

 protected:
  Array parameter(const std::string& name, Array initial);
  Array buffer(const std::string& name, Array initial);
  void add_part(std::string name, std::shared_ptr<Module> part);
  const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& parts() const { return parts_; }

 private:
  std::vector<std::pair<std::string, Array>> arrays_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> parts_;
};

/// x [..., in] -> [..., out]. Weights [out, in] and biases within 1 / sqrt(in).
class Linear : public Module {
 public:
  Linear(int64_t in, int64_t out);
  Array operator()(const Array& x) override;

  Array weight, bias;
};

/// Images [n, in, h, w] -> [n, out, ...]. Weights [out, in, kernel, kernel] and biases within
/// 1 / sqrt(in * kernel * kernel).
class Conv2d : public Module {
 public:
  Conv2d(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, int64_t pad = 0);
  Array operator()(const Array& x) override;

  Array weight, bias;

 private:
  int64_t stride_, pad_;
};

/// Images [n, channels, h, w], by the statistics of the batch in training and by the running ones in evaluation.
class BatchNorm2d : public Module {
 public:
  explicit BatchNorm2d(int64_t channels);
  Array operator()(const Array& x) override;

  Array weight, bias, mean, variance;
};

/// A function without arrays as a part.
class Pointwise : public Module {
 public:
  explicit Pointwise(std::function<Array(const Array&)> function) : function_(std::move(function)) {}
  Array operator()(const Array& x) override { return function_(x); }

 private:
  std::function<Array(const Array&)> function_;
};

/// One part behind the other, called "0", "1", ...
class Sequential : public Module {
 public:
  explicit Sequential(std::vector<std::shared_ptr<Module>> parts);
  Array operator()(const Array& x) override;
};

/// Steps against the gradients of parameters: velocity = momentum * velocity + gradient, parameter -= rate * velocity.
class Sgd {
 public:
  explicit Sgd(Arrays parameters, double learning_rate, double momentum = 0, double weight_decay = 0);
  /// Parameters without a gradient stay.
  void step();
  /// Takes gradients away.
  void zero_gradients();

 private:
  Arrays parameters_, velocities_;
  Array learning_rate_;
  double momentum_, weight_decay_;
};

/// Mean of the cross entropies of logits [n, classes, ...] and labels [n, ...] of i32 or i64.
Array cross_entropy(const Array& logits, const Array& labels);

}  // namespace halfstep::capture
