// Converts the steps of a tape into one graph, and computes the graph of their gradients.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/engine/capture/recorded.h"

namespace halfstep::capture {

/// The origin of a step's input: output `index` of step `step` of the tape, or leaf `index` if `step` is -1.
struct Origin {
  int step = -1;
  size_t index = 0;
  bool operator==(const Origin&) const = default;
};

/// Everything that determines the gradient graph, without the numbers.
struct Tape {
  struct Entry {
    std::shared_ptr<const Recorded> what;
    std::vector<Origin> inputs;
    bool operator==(const Entry&) const = default;
  };
  struct Leaf {
    Type type;
    Place place;
    bool operator==(const Leaf&) const = default;
  };
  std::vector<Entry> steps;  ///< in execution order
  std::vector<Leaf> leaves;  ///< other inputs of the steps, wanted ones first
  std::vector<Origin> of;    ///< values to differentiate, each with a seed
  size_t wanted = 0;         ///< number of wanted leaves
  bool operator==(const Tape&) const = default;
};

/// The semantics of an argument of the gradient graph.
struct Source {
  enum class Kind { leaf, seed, result, saved };
  Kind kind;
  size_t index = 0;       ///< index of the leaf, the seed or the step
  size_t output = 0;      ///< output of the step, for a result
  std::string name = {};  ///< name, for a saved value
  Place place = {};
};

struct GradientGraph {
  std::shared_ptr<const Recorded> recorded;
  std::vector<Source> sources;               ///< indexed by argument
  std::vector<std::optional<size_t>> found;  ///< for each wanted leaf, the output with its gradient
};

/// Uses passes::autodiff and throws its Errors.
GradientGraph gradient_graph(const Tape& tape);

}  // namespace halfstep::capture
