// The loss of the float network with its gradients, as a program that weights and values can be moved in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/engine/runtime/program.h"
#include "halfstep/tune/sensitivity/networks.h"
#include "halfstep/tune/sensitivity/trial.h"

namespace halfstep::sensitivity {

/// What gradients are taken of: a weight, or what an operation or the network's input gives.
struct Variable {
  std::string value;     ///< in the float network
  std::string moved;     ///< the tensor itself, or the argument that is added to the value
  std::string contents;  ///< output of the program that is the value; "" of a weight
  std::string gradient;  ///< output of the program; "": the loss does not depend on it
  bool is_weight = false;
};

/// +1 or -1 in every element.
Tensor random_signs(const Dims& dims, uint64_t seed, uint64_t stream);

class LossProgram {
 public:
  /// For `batch` samples at once. Throws unsupported where an operator on the way has no gradient.
  LossProgram(const FloatNetwork& network, const Trial& trial, int64_t batch, uint64_t seed);

  const std::vector<Variable>& variables() const { return variables_; }
  /// Samples [begin, begin + batch) with what the loss wants of them, and every value as it is.
  Tensors inputs(int64_t begin);
  /// The same for mean squares of gradients: of a teacher's loss, whose gradient is 0 where the network is the teacher,
  /// it wants what lies off the outputs by random signs, so that they are half the second derivative on average.
  Tensors scattered_inputs(int64_t begin, uint64_t stream);
  /// Values and gradients by name; a weight's values are in the model.
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
