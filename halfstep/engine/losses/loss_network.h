// A loss as a network: from outputs and targets to one number.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/engine/losses/loss_text.h"

namespace halfstep::losses {

/// Values that a loss can read, by name: the outputs of a network in order, and the targets of the data.
struct Ports {
  std::vector<std::pair<std::string, Type>> outputs;
  std::map<std::string, Type> targets;
};

/// A loss whose network depends on the types of its operands.
struct NamedLoss {
  std::string text = {};  ///< distinguishes it from other losses. "": none
  std::function<Model(const Ports&)> network = {};

  explicit operator bool() const { return network != nullptr; }
};

/// The loss of a text (loss_text.h). "": none.
NamedLoss named_loss(std::string_view text);

/// Names of the arguments of a loss's network.
std::string output_argument(const std::string& output);
std::string target_argument(const std::string& target);

/// The network of a loss for these types: its arguments are the outputs and targets that it reads, its output is f32
/// [1]. Without a name an operand is the next output, or the target with the name of the operand, with the name of the
/// output, or the only one. Throws bad_input for a name that does not exist.
Model loss_network(const LossText& loss, const Ports& ports);

}  // namespace halfstep::losses
