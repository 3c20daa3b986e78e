// Networks, data sets and verbs in the extension. The Python package wraps them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "halfstep/api/errors.h"
#include "python/src/python.h"

namespace halfstep::python {

/// A Model that any thread may use. A verb works on the state at its start.
class Network {
 public:
  explicit Network(Model model) : model_(std::make_shared<const Model>(std::move(model))) {}

  std::shared_ptr<const Model> model() const;
  /// Returns a runner for the current state of the Model.
  std::shared_ptr<api::Runner> runner();

  /// Returns the Model itself. From now on others may write its tensors, so the tensors keep their memory, and other
  /// Networks are made from copies.
  Model share();

  /// Changes the Model in place: change(model) returns the next one. Throws if another thread uses the Model.
  template <class Change>
  void replace(Change&& change) {
    if (changing_.exchange(true)) fail(errors::network_in_training(graph()->name()));
    const std::unique_ptr<std::atomic<bool>, void (*)(std::atomic<bool>*)> done(&changing_,
                                                                                [](auto* flag) { *flag = false; });
    become(change(*model()));
  }

  /// Returns the Model's graph without its tensors.
  std::shared_ptr<const Graph> graph() const;

 private:
  void become(Model next);

  mutable std::mutex mutex_;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<api::Runner> runner_;
  uint64_t runs_digest_ = 0;  ///< digest of the tensors in runner_; used only if they are shared
  bool is_shared_ = false;
  std::atomic<bool> changing_{false};
};

/// Returns (dtype, extents). None is a dynamic dimension.
nb::tuple type_tuple(const Type& type);

void define_networks(nb::module_& module);
/// Evaluations, quantizers of the user and platforms.
void define_values(nb::module_& module);
void define_verbs(nb::module_& module);
void define_trainables(nb::module_& module);

}  // namespace halfstep::python
