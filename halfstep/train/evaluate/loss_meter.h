// A loss of outputs and targets, outside of training.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/engine/losses/loss_network.h"
#include "halfstep/engine/runtime/program.h"

namespace halfstep::train {

/// Computes a loss on batches. A program is compiled once for each combination of types.
class LossMeter {
 public:
  /// `outputs` are the names of the network's outputs, in order.
  LossMeter(losses::NamedLoss loss, std::vector<std::string> outputs, ThreadPool& pool)
      : loss_(std::move(loss)), outputs_(std::move(outputs)), pool_(pool) {}

  double operator()(const Tensors& outputs, const Tensors& targets);

 private:
  losses::NamedLoss loss_;
  std::vector<std::string> outputs_;
  ThreadPool& pool_;
  struct Known {
    std::vector<std::string> arguments;
    runtime::Program program;
  };
  std::map<std::string, Known> known_;  ///< key: the types as text
};

/// Throws bad_input for the first sample whose targets the loss refuses, whatever the outputs are: a class or a label
/// out of range, or a sequence that is too long. `network` is the one to train.
void check_targets(const losses::NamedLoss& loss, const Model& network, const data::Samples& samples, ThreadPool& pool);

}  // namespace halfstep::train
