// Nodes of the program tree of a captured function.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/engine/capture/captured.h"

namespace halfstep::capture {

/// One stretch, as traced.
struct Captured::Part {
  Model model;                               ///< without outputs, its arguments are named after the values it reads
  std::set<std::string> gives;               ///< names of its values that are read elsewhere
  std::vector<size_t> reads;                 ///< value numbers, indexed by argument
  std::map<std::string, Place> places = {};  ///< devices of values it reads and computes, if not the host
  std::vector<std::pair<size_t, Array>> outside = {};  ///< arrays that are first read here
  std::vector<std::pair<size_t, std::function<Tensor()>>> drawn = {};
  std::vector<std::pair<size_t, std::vector<std::pair<size_t, ContentPtr>>>> effects =
      {};  ///< each shown value is a constant or a value number
  std::optional<size_t> decided = {};
  std::string decided_name = {};
};

/// A Part with its compiled program and its successors.
struct Captured::Node : Part {
  std::shared_ptr<const Recorded> program = {};
  std::vector<size_t> made = {};  ///< value numbers, indexed by output of the program
  std::map<std::string, std::unique_ptr<Node>> next = {};
  std::shared_ptr<const End> end = {};
};

/// The end of a path through the decisions.
struct Captured::End {
  std::shared_ptr<const Recorded> whole;  ///< all stretches as one network: the step on the tape
  std::vector<size_t> inputs, outputs;    ///< value numbers
  std::vector<bool> differentiable;       ///< indexed by output
  std::vector<bool> wanted;               ///< indexed by input: whether its gradients may be requested
  bool on_tape = false;
  /// Whether the tape keeps the values that gradients read. False if the function computed gradients itself. Second
  /// gradients are rare, and keeping the values would cost memory and time in every call.
  bool keeps = true;
  std::vector<std::pair<std::string, size_t>> saved;
  std::vector<Item> results;
  std::vector<Written> written;
  size_t tag = 0;
};

}  // namespace halfstep::capture
