// A network that runs again and again, from any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "halfstep/api/settings.h"

namespace halfstep::api {

/// A network, of any stage, in evaluation mode. A program is compiled at the first run with inputs of some extents for
/// some values and kept for the next; the last kPrograms of them stay. Any number of threads may run at once: they take
/// turns.
class Runner {
 public:
  static constexpr size_t kPrograms = 8;

  /// Keeps what it needs of the network, which may change afterwards: nothing of that is seen here. `threads`: 0 is one
  /// per processor.
  explicit Runner(const Model& network, int threads = 0);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Values or tensors by name: those of `fetch`, or the network's outputs. Throws for a missing or unknown name, and
  /// for extents that the network does not take.
  Tensors run(const Tensors& inputs, const std::vector<std::string>& fetch = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Names of the values that a Runner can fetch, in the order in which they are computed; arguments first.
std::vector<std::string> value_names(const Model& network);

}  // namespace halfstep::api
