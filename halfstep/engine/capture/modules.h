// Layers with parameters, and optimizers: networks written in C++.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/base/attribute.h"
#include "halfstep/engine/capture/array.h"

namespace halfstep::capture {

/// A part of a network with its own arrays. The switches tell layers whether they are in training. `uniform` draws
/// initial values in the order of the members here, so `seed` determines them.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  virtual Array operator()(const Array& x) = 0;

  /// Parameters and buffers by name. Names of nested parts have a prefix: "0.weight".
  std::vector<std::pair<std::string, Array>> named_arrays() const;
  /// Arrays that require a gradient.
  Arrays parameters() const;
  /// Copies of all arrays, by name.
  Tensors state() const;
  /// Assigns a `state`. If names or types differ, throws Error and changes nothing.
  void load_state(const Tensors& state);

 protected:
  Array parameter(const std::string& name, Array initial);
  Array buffer(const std::string& name, Array initial);
  /// Initial values, uniform within 1 / sqrt(fan_in) of 0.
  static Array within(const Dims& dims, int64_t fan_in);
  void add_part(std::string name, std::shared_ptr<Module> part);
  const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& parts() const { return parts_; }

 private:
  std::vector<std::pair<std::string, Array>> arrays_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> parts_;
};

/// x [..., in] -> [..., out]. Weights [out, in] and biases are initialized uniformly within 1 / sqrt(in) of 0.
class Linear : public Module {
 public:
  Linear(int64_t in, int64_t out, bool has_bias = true);
  Array operator()(const Array& x) override;

  Array weight, bias;
};

/// Normalizes images [n, channels, h, w] by the batch statistics in training and by the running statistics in
/// evaluation.
class BatchNorm2d : public Module {
 public:
  explicit BatchNorm2d(int64_t channels);
  Array operator()(const Array& x) override;

  Array weight, bias, running_mean, running_var;
};

/// Normalizes over the last axes, which have the extents of `shape`.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(const Dims& shape, double epsilon = 1e-5, bool has_bias = true);
  Array operator()(const Array& x) override;

  Array weight, bias;

 private:
  double epsilon_;
};

/// Looks up rows of a table [count, width] by i64 indices. The table is initialized from a normal
/// distribution.
class Embedding : public Module {
 public:
  Embedding(int64_t count, int64_t width);
  Array operator()(const Array& ids) override;

  Array weight;
};

/// In training, zeroes each element with probability `rate` (0 <= rate < 1) and divides the others by 1 - rate.
class Dropout : public Module {
 public:
  explicit Dropout(double rate = 0.5);
  Array operator()(const Array& x) override;

 private:
  double rate_;
};

/// Returns the next h [n, width] = tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh) of x [n, in]. All
/// parameters are initialized within 1 / sqrt(width).
class RnnCell : public Module {
 public:
  RnnCell(int64_t in, int64_t width) : RnnCell(in, width, 1) {}
  /// Starts from h = 0.
  Array operator()(const Array& x) override;
  Array operator()(const Array& x, const Array& h);

  Array weight_ih, weight_hh, bias_ih, bias_hh;

 protected:
  RnnCell(int64_t in, int64_t width, int64_t gates);
  Array sums(const Array& x, const Array& h) const;
  Array zeros(const Array& x) const;

  int64_t width_;
};

/// Long short-term memory: returns the next (h, c). Rows of the weights are the gates input, forget, cell, output.
class LstmCell : public RnnCell {
 public:
  LstmCell(int64_t in, int64_t width) : RnnCell(in, width, 4) {}
  /// Returns h, starting from states of zeros.
  Array operator()(const Array& x) override;
  std::pair<Array, Array> operator()(const Array& x, const std::pair<Array, Array>& state);
};

/// A function without arrays, as a part.
class Pointwise : public Module {
 public:
  explicit Pointwise(std::function<Array(const Array&)> function) : function_(std::move(function)) {}
  Array operator()(const Array& x) override { return function_(x); }

 private:
  std::function<Array(const Array&)> function_;
};

/// Applies its parts in order. They are called "0", "1", ...
class Sequential : public Module {
 public:
  explicit Sequential(std::vector<std::shared_ptr<Module>> parts);
  Array operator()(const Array& x) override;
};

/// Updates parameters by their gradients.
class Optimizer {
 public:
  Optimizer(Arrays parameters, double learning_rate);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Parameters without a gradient stay unchanged.
  void step();
  /// Removes the gradients of all parameters.
  void zero_gradients();

 protected:
  const Arrays& parameters() const { return parameters_; }
  const Array& learning_rate() const { return learning_rate_; }
  /// Updates the parameter of this number. Gradients are switched off meanwhile.
  virtual void update(Array parameter, const Array& gradient, size_t number) = 0;

 private:
  Arrays parameters_;
  Array learning_rate_;
};

/// Gradient descent with momentum: velocity = momentum * velocity + gradient, parameter -= rate * velocity.
class Sgd : public Optimizer {
 public:
  explicit Sgd(Arrays parameters, double learning_rate, double momentum = 0, double weight_decay = 0);

 private:
  void update(Array parameter, const Array& gradient, size_t number) override;

  Arrays velocities_;
  Attributes attributes_;
};

struct AdamOptions {
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
};

/// Adam (Kingma and Ba, 2015), with decoupled weight decay (Loshchilov and Hutter, 2019).
class Adam : public Optimizer {
 public:
  explicit Adam(Arrays parameters, const AdamOptions& options = {});

 private:
  void update(Array parameter, const Array& gradient, size_t number) override;

  std::vector<Arrays> states_;  ///< indexed by parameter: both moments and both powers
  Attributes attributes_;
};

/// Mean of the squared differences.
Array mse(const Array& found, const Array& expected);

/// Mean cross entropy of logits [n, classes, ...] and labels [n, ...] of i32 or i64.
Array cross_entropy(const Array& logits, const Array& labels);

}  // namespace halfstep::capture
