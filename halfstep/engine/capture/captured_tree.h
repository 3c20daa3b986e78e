// What the programs of a captured function are made of.
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

/// One stretch, as it was traced.
struct Captured::Part {
  Model model;                               ///< without outputs; its arguments have the names of what it reads
  std::set<std::string> gives;               ///< names of its values that are read elsewhere
  std::vector<size_t> reads;                 ///< numbers, by argument
  std::map<std::string, Place> places = {};  ///< of what it reads and makes, where that is not the host
  std::vector<std::pair<size_t, Array>> outside = {};  ///< arrays that are read here first
  std::vector<std::pair<size_t, std::function<Tensor()>>> drawn = {};
  std::vector<std::pair<size_t, std::vector<std::pair<size_t, ContentPtr>>>> effects = {};  ///< a constant, or a number
  std::optional<size_t> decided = {};
  std::string decided_name = {};
};

/// The same with its program, and what comes behind it.
struct Captured::Node : Part {
  std::shared_ptr<const Recorded> program = {};
  std::vector<size_t> made = {};  ///< numbers, by output of the program
  std::map<std::string, std::unique_ptr<Node>> next = {};
  std::shared_ptr<const End> end = {};
};

/// What a way through the decisions comes to.
struct Captured::End {
  std::shared_ptr<const Recorded> whole;  ///< all stretches as one: the step on the tape
  std::vector<size_t> inputs, outputs;    ///< numbers
  std::vector<bool> differentiable;       ///< by output
  std::vector<bool> wanted;               ///< by input: whether gradients of it may be asked for
  bool on_tape = false;
  /// Whether the tape keeps what gradients read. Not where the function took gradients itself: hardly anyone asks for
  /// further ones, and keeping all of it costs memory and time at every call.
  bool keeps = true;
  std::vector<std::pair<std::string, size_t>> saved;
  std::vector<Item> results;
  std::vector<Written> written;
  size_t tag = 0;
};

}  // namespace halfstep::capture
