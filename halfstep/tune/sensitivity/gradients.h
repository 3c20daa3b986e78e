// The loss of the float network and its gradients, as a program in which weights and values can be moved.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/engine/runtime/program.h"
#include "halfstep/tune/sensitivity/networks.h"
#include "halfstep/tune/sensitivity/trial.h"

namespace halfstep::sensitivity {

/// A variable of the gradients: a weight, or a result of an operation or an input of the network.
struct Variable {
  std::string value;     ///< name in the float network
  std::string moved;     ///< the weight tensor, or the argument that is added to the value
  std::string contents;  ///< output of the program with the value, "" for a weight
  std::string gradient;  ///< output of the program with the gradient, "" if the loss does not depend on it
  bool is_weight = false;
};

/// +1 or -1 in every element.
Tensor random_signs(const Dims& dims, uint64_t seed, uint64_t stream);

class LossProgram {
 public:
  /// Compiles the program for `batch` samples. Throws unsupported if an operator on the path has no gradient.
  LossProgram(const FloatNetwork& network, const Trial& trial, int64_t batch, uint64_t seed);

  const std::vector<Variable>& variables() const { return variables_; }
  /// Samples [begin, begin + batch) with labels or teacher outputs, and all shifts 0.
  Tensors inputs(int64_t begin);
  /// Inputs for mean squares of gradients. A teacher's loss has gradient 0 if the network is its own teacher. So the
  /// teacher outputs are shifted by random signs, such that the mean squares are half the second derivative on average.
  Tensors scattered_inputs(int64_t begin, uint64_t stream);
  /// Values and gradients by name. The values of weights are in the Model.
  Tensors run(const Tensors& inputs) { return program_.run(inputs, trial_.pool()); }
  void set_weight(const std::string& name, const Tensor& contents) { program_.set_tensor(name, contents); }

 private:
  Model graph_of(const FloatNetwork& network);

  const Trial& trial_;
  int64_t batch_;
  uint64_t seed_;
  std::vector<Variable> variables_;
  std::map<std::string, Tensor> zeros_;
  train::BatchRunner in_float_;
  runtime::Program program_;
};

}  // namespace halfstep::sensitivity
