// Networks, data sets and verbs as the extension has them; the package gives them their faces.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "halfstep/api/errors.h"
#include "python/src/python.h"

namespace halfstep::python {

/// A Model that any thread may use. What a verb works on is the Model as it was when the verb began.
class Network {
 public:
  explicit Network(Model model) : model_(std::make_shared<const Model>(std::move(model))) {}

  std::shared_ptr<const Model> model() const;
  /// Of the Model as it is now.
  std::shared_ptr<api::Runner> runner();

  /// The Model itself, whose tensors others may write from now on: they stay where they are for good, and what other
  /// Networks are made from are copies.
  Model share();

  /// Changes the Model in place: change(model) gives the next one. Throws where another thread is at it.
  template <class Change>
  void replace(Change&& change) {
    if (changing_.exchange(true)) fail(errors::network_in_training(graph()->name()));
    const std::unique_ptr<std::atomic<bool>, void (*)(std::atomic<bool>*)> done(&changing_,
                                                                                [](auto* flag) { *flag = false; });
    become(change(*model()));
  }

  /// Of the Model, without its tensors.
  std::shared_ptr<const Graph> graph() const;

 private:
  void become(Model next);

  mutable std::mutex mutex_;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<api::Runner> runner_;
  uint64_t runs_digest_ = 0;  ///< of the tensors that runner_ has; only where they are shared
  bool is_shared_ = false;
  std::atomic<bool> changing_{false};
};

void define_networks(nb::module_& module);
void define_verbs(nb::module_& module);
void define_trainables(nb::module_& module);

}  // namespace halfstep::python
