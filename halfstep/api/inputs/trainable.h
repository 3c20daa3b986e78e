// A network in an external training loop: forward first, and backward when the loss is known.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "halfstep/api/settings.h"

namespace halfstep::api {

/// A float or prepared network in training mode, for any extents that it accepts. The first run with given extents
/// compiles its program, which is kept for later runs. Thread-safe: runs from several threads are serialized.
class Trainable {
 public:
  class Run;

  /// Shares the network's tensors instead of copying them. Each run reads the current parameters and updates observer
  /// ranges and running means in place. `threads`: 0 means one per processor. Throws for an integer program, and as
  /// `settle`.
  explicit Trainable(const Model& network, int threads = 0);
  ~Trainable();
  Trainable(Trainable&&) noexcept;
  Trainable& operator=(Trainable&&) noexcept;

  /// Returns the network's tensors that training reads or updates, by name: parameters and state. For learned
  /// quantizers and separately trained batch norms these are the underlying tensors, not the weights and scales derived
  /// from them.
  std::map<std::string, Role> roles() const;

  /// Updates everything derived from parameters and state: weights, scales and zero points are recomputed from learned
  /// tensors. Call it before other code reads the network. Each run begins with it. A learned scale that a step moved
  /// to zero or below becomes half of its last value, as in halfstep::train. Throws Error for a scale that was never
  /// positive, or is no longer a number.
  void settle();

  /// Runs the network on named inputs. `wanted` names the f32 parameters and inputs for which `Run::backward` computes
  /// gradients. Throws Error for a missing, unknown or mismatched name, and unsupported if an operator between a wanted
  /// name and the outputs has no gradient.
  Run forward(const Tensors& inputs, const std::vector<std::string>& wanted);

 private:
  struct Compiled;
  struct State;
  std::shared_ptr<State> state_;
};

/// One run of a Trainable. It may outlive the Trainable. It holds the memory of the network's values until `backward`.
class Trainable::Run {
 public:
  ~Run();
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;

  /// Returns the outputs by name.
  const Tensors& outputs() const;

  /// Returns the gradients of a loss by name, for all wanted tensors on which an output depends. `output_gradients` has
  /// the gradient of the loss for every float output. Throws if called a second time.
  Tensors backward(const Tensors& output_gradients);

 private:
  friend class Trainable;
  struct State;
  explicit Run(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace halfstep::api
