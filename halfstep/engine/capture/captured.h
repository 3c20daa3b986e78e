// Programs of one captured function. They form a tree whose branches are the outcomes of decisions met so far.
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

/// Programs of a function for arguments of certain types under certain switches. Each stretch between two decisions is
/// a program. The element that a decision reads selects the next program. Not thread-safe.
class Captured {
 public:
  static constexpr size_t kMostOutcomes = 8;

  Captured();
  ~Captured();
  Captured(Captured&&) noexcept;
  Captured& operator=(Captured&&) noexcept;

  /// Adds a run of the function: a trace that began with `arguments`, and its results. Later runs on the same path have
  /// its `tag`. If a decision has more than kMostOutcomes outcomes, adds nothing and returns the location of that
  /// decision.
  std::optional<Location> add(Trace& trace, const Arrays& arguments, const Arrays& results, size_t tag);

  /// Whether the gradients that the function reads, and the arrays that it reads besides its arguments, are unchanged.
  bool fits(const Arrays& arguments) const;

  /// Whether its programs are for arguments of these extents.
  bool has_extents(const Arrays& arguments) const;
  /// Returns its programs for arguments that differ only in extents. nullopt if the function may depend on the extents
  /// that differ. Throws Error if an operator does not accept them.
  std::optional<Captured> with_extents(const Arrays& arguments) const;

  /// Results of a run. `effect` is called with the arrays of each effect, in order, after all values are computed and
  /// before arrays are written. It may run anything, calls of this function too. `results` is empty if a decision has a
  /// new outcome. Then nothing was written, but `effects` of the effects took place.
  struct Run {
    std::optional<Arrays> results = {};
    size_t effects = 0;
    size_t tag = 0;
  };
  Run run(const Arrays& arguments, const std::function<void(size_t number, const Arrays& shown)>& effect);

  size_t programs() const;
  /// The programs in order, with the decisions between them.
  std::string text() const;

 private:
  /// An array of a run: an argument, or an array that is always the same.
  struct Holder {
    std::optional<size_t> argument = {};
    Array array = {};
    const Array& in(const Arrays& arguments) const { return argument ? arguments[*argument] : array; }
  };
  /// A result of a run: an array itself, or a new array with the contents of a value.
  struct Item {
    std::optional<Holder> holder = {};
    std::optional<size_t> output = {};  ///< output of the whole program
    ContentPtr constant = {};
    std::optional<size_t> input = {};  ///< number of an input that is returned unchanged
    std::optional<size_t> made = {};   ///< number of the new array, equal in all items that are the same array
  };
  struct Written {
    Holder holder;
    bool is_gradient;
    std::optional<Item> item;  ///< empty: no gradient
  };
  struct Part;
  struct Node;
  struct End;
  class Adding;
  class WithExtents;

  using Values = std::vector<ContentPtr>;  ///< values of a run, by number

  void run_node(Node& node, Values& values);
  std::shared_ptr<const Recorded> program_of(Node& node);
  static Arrays shown(const std::vector<std::pair<size_t, ContentPtr>>& items, const Values& values);
  static std::vector<ContentPtr> outputs_of(const End& end, const Values& values);
  static Arrays finish(const End& end, const Arrays& arguments, const Values& values);

  std::unordered_map<std::string, size_t> numbers_;  ///< numbers of values, by name
  std::unique_ptr<Node> root_;
  std::vector<Dims> extents_;                        ///< indexed by argument
  std::vector<bool> depends_on_;                     ///< indexed by argument: whether the function may depend on its
                                                     ///< extents
  std::vector<std::pair<Array, bool>> outside_;      ///< outside arrays, and whether they were differentiable
  std::vector<std::pair<Holder, Array>> gradients_;  ///< arrays, and their gradients before the run
};

}  // namespace halfstep::capture
