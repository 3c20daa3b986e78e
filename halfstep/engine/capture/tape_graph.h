// Steps of a tape as one graph, and the graph of gradients along them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/engine/capture/recorded.h"

namespace halfstep::capture {

/// Where an input of a step comes from: output `index` of step `step` of the tape, or leaf `index` where `step` is -1.
struct Origin {
  int step = -1;
  size_t index = 0;
  bool operator==(const Origin&) const = default;
};

/// What gradients depend on besides numbers.
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
  std::vector<Entry> steps;  ///< in order
  std::vector<Leaf> leaves;  ///< what the steps read besides; those that are wanted come first
  std::vector<Origin> of;    ///< what is differentiated; each has a seed
  size_t wanted = 0;         ///< how many of the leaves
  bool operator==(const Tape&) const = default;
};

/// What an argument of the graph of gradients is.
struct Source {
  enum class Kind { leaf, seed, result, saved };
  Kind kind;
  size_t index = 0;       ///< of the leaf, the seed, or the step
  size_t output = 0;      ///< of a result
  std::string name = {};  ///< of a saved value
  Place place = {};
};

struct GradientGraph {
  std::shared_ptr<const Recorded> recorded;
  std::vector<Source> sources;               ///< by argument
  std::vector<std::optional<size_t>> found;  ///< by wanted leaf: the output that is its gradient
};

/// By passes::autodiff. Throws Error as that does.
GradientGraph gradient_graph(const Tape& tape);

}  // namespace halfstep::capture
