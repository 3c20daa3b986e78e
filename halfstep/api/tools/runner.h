// Repeated execution of a network, from any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "halfstep/api/settings.h"

namespace halfstep::api {

/// Runs a network of any stage in evaluation mode. A program is compiled on the first run for given input extents and
/// fetched values, and cached. The cache keeps the last kPrograms programs. Thread-safe: runs from several threads are
/// serialized.
class Runner {
 public:
  static constexpr size_t kPrograms = 8;

  /// Copies what it needs from the network, so later changes to the network have no effect. `threads`: 0 means one per
  /// processor.
  explicit Runner(const Model& network, int threads = 0);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Returns values or tensors by name: those in `fetch`, or the network's outputs. Throws for a missing or unknown
  /// name, and for extents that the network does not accept.
  Tensors run(const Tensors& inputs, const std::vector<std::string>& fetch = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns the names of all values that a Runner can fetch, in order of computation, arguments first.
std::vector<std::string> value_names(const Model& network);

}  // namespace halfstep::api
