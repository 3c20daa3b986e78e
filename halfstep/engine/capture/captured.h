// Programs of one captured function: a tree, whose branches are the outcomes of decisions that were met so far.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "halfstep/core/base/diagnostics/location.h"
#include "halfstep/engine/capture/array.h"
#include "halfstep/engine/capture/recorded.h"
#include "halfstep/engine/capture/tracing.h"

namespace halfstep::capture {

/// Of a function on arguments of certain types, under certain switches. Each stretch between two decisions is a
/// program; which one comes next depends on the element that was decided on. Not for several threads at once.
class Captured {
 public:
  static constexpr size_t kMostOutcomes = 8;

  Captured();
  ~Captured();
  Captured(Captured&&) noexcept;
  Captured& operator=(Captured&&) noexcept;

  /// Keeps what a run of the function was: a trace that began with `arguments`, and what it gave; runs that go the same
  /// way have its `tag`. Where one decision met more than kMostOutcomes nothing is kept, and that decision given.
  std::optional<Location> add(Trace& trace, const Arrays& arguments, const Arrays& results, size_t tag);

  /// Whether the arrays that the function reads besides its arguments, and the gradients that it looks at, are as it
  /// found them.
  bool fits(const Arrays& arguments) const;

  /// Whether its programs are for arguments of these extents.
  bool has_extents(const Arrays& arguments) const;
  /// The same programs for arguments that differ in extents alone; nothing where what the function does may depend on
  /// those that differ. Throws Error where an operator does not take them.
  std::optional<Captured> with_extents(const Arrays& arguments) const;

  /// What the function gives, and does to arrays; `effect` is called with what it shows, in order, when all is computed
  /// and nothing is written (it may run anything, calls of this function too). No results where a
  /// decision comes out as it never did: then nothing was written, but `effects` of them took place.
  struct Run {
    std::optional<Arrays> results = {};
    size_t effects = 0;
    size_t tag = 0;
  };
  Run run(const Arrays& arguments, const std::function<void(size_t number, const Arrays& shown)>& effect);

  size_t programs() const;
  /// The programs, one after the other, with what is decided between them.
  std::string text() const;

 private:
  /// An array of a run: an argument, or one that is always the same.
  struct Holder {
    std::optional<size_t> argument = {};
    Array array = {};
    const Array& in(const Arrays& arguments) const { return argument ? arguments[*argument] : array; }
  };
  /// What a run gives: an array itself, or a new one with the contents of a value.
  struct Item {
    std::optional<Holder> holder = {};
    std::optional<size_t> output = {};  ///< of the whole
    ContentPtr constant = {};
    std::optional<size_t> input = {};  ///< number of what came in, as it came
    std::optional<size_t> made = {};   ///< the same for all that are one new array
  };
  struct Written {
    Holder holder;
    bool is_gradient;
    std::optional<Item> item;  ///< nothing: no gradient
  };
  struct Part;
  struct Node;
  struct End;
  class Adding;
  class WithExtents;

  using Values = std::vector<ContentPtr>;  ///< of a run, by number

  void run_node(Node& node, Values& values);
  std::shared_ptr<const Recorded> program_of(Node& node);
  static Arrays shown(const std::vector<std::pair<size_t, ContentPtr>>& items, const Values& values);
  static std::vector<ContentPtr> outputs_of(const End& end, const Values& values);
  static Arrays finish(const End& end, const Arrays& arguments, const Values& values);

  std::unordered_map<std::string, size_t> numbers_;  ///< of values, by name
  std::unique_ptr<Node> root_;
  std::vector<Dims> extents_;                        ///< by argument
  std::vector<bool> depends_on_;                     ///< the same: whether what the function does may depend on them
  std::vector<std::pair<Array, bool>> outside_;      ///< and whether it was differentiable
  std::vector<std::pair<Holder, Array>> gradients_;  ///< what they were
};

}  // namespace halfstep::capture
