// A network in someone else's training loop: its outputs now, its gradients when the loss is known.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "halfstep/api/settings.h"

namespace halfstep::api {

/// A float or prepared network in training mode, on any extents that it takes; what a run needs is compiled at the
/// first one and kept. Any number of threads may use one: they take turns.
class Trainable {
 public:
  class Run;

  /// Keeps the network's tensors themselves, no copies: each run reads parameters as they are by then, and writes there
  /// what it moves (ranges of observers, running means). `threads`: 0 is one per processor. Throws for an integer
  /// program, and as `settle` does.
  explicit Trainable(const Model& network, int threads = 0);
  ~Trainable();
  Trainable(Trainable&&) noexcept;
  Trainable& operator=(Trainable&&) noexcept;

  /// The tensors of the network that training moves or reads, by name: parameters, and state. Where quantizers learn in
  /// ways of their own, or batch norms are trained beside their layers, these are the tensors that weights and scales
  /// are made of, and not those that are made of them.
  std::map<std::string, Role> roles() const;

  /// Makes the network what its parameters and state say, before anything else looks at it. Learned scales that
  /// somebody's step took to zero or below become half of what they were, as halfstep::train's steps leave them; each
  /// run begins with that. Weights, scales and zero points that are made of learned tensors are made anew. Throws Error
  /// for a scale that never was a positive number, or is none any more.
  void settle();

  /// The network on inputs by name. `wanted`: the parameters and inputs, f32, whose gradients `Run::backward` is to
  /// give. Throws Error for a missing, unknown or unfitting name, and (unsupported) where an operator on the way from a
  /// wanted name has no gradient.
  Run forward(const Tensors& inputs, const std::vector<std::string>& wanted);

 private:
  struct Compiled;
  struct State;
  std::shared_ptr<State> state_;
};

/// One run of a Trainable, which may be gone before it. It holds the memory of the network's values until `backward`.
class Trainable::Run {
 public:
  ~Run();
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;

  /// By name.
  const Tensors& outputs() const;

  /// Gradients of a loss with respect to what was wanted and what an output depends on, by name, from those with
  /// respect to every output of floats. Once: throws the second time.
  Tensors backward(const Tensors& output_gradients);

 private:
  friend class Trainable;
  struct State;
  explicit Run(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace halfstep::api
