// Recurrent layers over whole sequences. Names, defaults and initial values are those of torch.nn.
#pragma once

#include <string>
#include <vector>

#include "halfstep/engine/capture/modules.h"

namespace halfstep::capture {

struct RecurrentOptions {
  int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;  ///< sequences are [n, length, ...], not [length, n, ...]
  double dropout = 0;        ///< rate of the dropout between layers in training
  bool bidirectional = false;
};

namespace layers {

struct Recurrent {
  std::string op;          ///< lstm, gru or rnn
  std::string activation;  ///< for rnn: Tanh or Relu
  int64_t hidden = 0;
  RecurrentOptions options = {};
};

/// Runs layers of an operator over x. `states` are empty (zeros), or h and for lstm c: [layers * directions, n,
/// hidden]. `parameters` has weight_ih, weight_hh and, with bias, bias_ih and bias_hh of each direction of each layer,
/// with torch.nn's order of gates. Returns the outputs [length, n, directions * hidden] of the last layer, and the
/// states after the last element. Dropout applies if its rate is not 0.
Arrays recurrent(const Array& x, const Arrays& states, const Arrays& parameters, const Recurrent& how);

}  // namespace layers

/// Base of the recurrent layers. Parameters are weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, those of the other
/// direction (weight_ih_l0_reverse, ...), and so on by layer, initialized within 1 / sqrt(hidden).
class RecurrentLayers : public Module {
 public:
  /// The outputs, starting from states of zeros.
  Array operator()(const Array& x) override;
  /// The outputs and the last states, for states as `layers::recurrent` has them.
  Arrays operator()(const Array& x, const Arrays& states);

 protected:
  RecurrentLayers(int64_t in, int64_t gates, layers::Recurrent how);

 private:
  layers::Recurrent how_;
  Arrays all_;
  Dropout dropout_;  ///< checks the rate
};

/// Elman network with tanh or relu.
class Rnn : public RecurrentLayers {
 public:
  Rnn(int64_t in, int64_t hidden, const RecurrentOptions& options = {}, const std::string& nonlinearity = "tanh");
};

/// Long short-term memory. Rows of the weights are the gates input, forget, cell, output.
class Lstm : public RecurrentLayers {
 public:
  Lstm(int64_t in, int64_t hidden, const RecurrentOptions& options = {});
};

/// Gated recurrent unit. Rows of the weights are the gates reset, update, new.
class Gru : public RecurrentLayers {
 public:
  Gru(int64_t in, int64_t hidden, const RecurrentOptions& options = {});
};

}  // namespace halfstep::capture
