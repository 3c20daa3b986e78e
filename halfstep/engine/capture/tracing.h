// What is under way while a function or a region is being traced.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "halfstep/core/base/diagnostics/location.h"
#include "halfstep/engine/capture/array.h"
#include "halfstep/engine/capture/recorded.h"

namespace halfstep::capture {

/// Where the program that traces is now; set once by whoever knows, such as the Python extension.
using Locator = Location (*)();
void set_locator(Locator locator);
Location here();

/// What a captured function did to an array that was there before it.
struct Written {
  std::shared_ptr<Cell> cell;
  bool is_gradient;  ///< its gradient, not its contents
};

/// The outcome of a decision on a tensor.
std::string bytes_of(const Tensor& tensor);

/// Between two decisions, or before the first: what ran, and what has to be done outside of a program.
struct Stretch {
  size_t operations = 0;                                ///< of the graph, when it ended
  size_t arguments = 0;                                 ///< the same
  Array decided = {};                                   ///< what the decision is taken on; no array at the end
  std::string outcome = {};                             ///< the bytes of its elements
  Location where = {};                                  ///< of the decision
  std::vector<std::pair<size_t, Arrays>> effects = {};  ///< number of the effect, and what it is shown
  std::vector<std::pair<Array, std::function<Tensor()>>> drawn = {};  ///< made anew in each run, before it
};

/// Records what arrays are computed by on this thread, as long as it lives. Of a function the operators run as well; of
/// a region they do not, and its values have no elements.
///
/// An array that was there before is an argument from its first use on, bound to the array itself. One that this thread
/// makes while the trace is under way, of numbers, is a constant; of any other nobody knows what it was computed from.
class Trace {
 public:
  enum class Kind { function, region };
  /// `what` says in messages what is traced: "captured function 'step'", "body of while_loop". `is_full`: a decision is
  /// an error.
  Trace(Kind kind, std::string what, bool is_full = false);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Nothing is recorded from here on; what was stays. The innermost first.
  void leave();

  /// The innermost of this thread; nullptr where nothing is traced.
  static Trace* current();
  Trace* outer() const { return outer_; }
  Kind kind() const { return kind_; }
  const std::string& what() const { return what_; }
  uint64_t began() const { return began_; }

  /// A new argument. Of a function it is `given` itself, of a region an array without elements like it.
  Array argument(const Array& given);
  /// Those, and behind them what was found to be read besides; in the graph the values that stand for them.
  const Arrays& arguments() const { return arguments_; }
  const std::vector<Value>& graph_arguments() const { return model_.graph.arguments(); }
  /// Where the values that were recorded lie.
  std::unordered_map<const detail::ValueNode*, Place> places() const;

  /// The value of an array in the graph.
  Value value_of(const Array& array);
  /// Appends what ran; `results` by output. Without tape gradients do not pass.
  void record(const Recorded& what, std::span<const Array> inputs, std::span<const ContentPtr> results, bool on_tape);

  /// Ends a stretch: what comes next depends on the elements of `on`.
  void decide(const Array& on);
  /// What comes next may depend on the extents of `of`: where it was computed here, on those of all arguments.
  void read_extents(const Array& of);
  /// What comes next may depend on extents of any argument.
  void read_all_extents() { reads_all_extents_ = true; }
  /// What was recorded may not be what another call does: `why` says on what it depends. The first reason counts.
  void doubt(const std::string& why);
  const std::string& doubts() const { return doubts_; }
  /// Gradients are taken of something that it recorded.
  void take_gradients() { takes_gradients_ = true; }
  bool takes_gradients() const { return takes_gradients_; }
  bool depends_on_extents(size_t argument) const { return reads_all_extents_ || extents_read_.contains(argument); }
  /// Something that each run has to do outside of programs, with the contents of `shown`.
  void effect(size_t number, Arrays shown);
  /// What `make` gives, and gives anew in each run.
  Array draw(const std::function<Tensor()>& make);
  /// An array becomes `next`, which is what `value` holds.
  void write(Cell& cell, const ContentPtr& next, const Array& value);
  /// Its gradient is looked at, or becomes another one.
  void touch_gradient(Cell& cell);
  void write_gradient(Cell& cell);

  Model& model() { return model_; }
  const std::set<std::string>& apart() const { return apart_; }
  /// At the end.
  std::vector<Stretch> take_stretches();
  const std::vector<Written>& written() const { return written_; }
  /// Arrays whose gradients were looked at, and what these were at first.
  const std::vector<std::pair<std::shared_ptr<Cell>, Array>>& gradients() const { return gradients_; }

 private:
  Value add_constant(const Array& array);
  bool was_there(const Cell& cell) const { return cell.born < began_; }
  void note_written(Cell& cell, bool is_gradient);

  Kind kind_;
  std::string what_;
  bool is_full_;
  uint64_t began_;
  const void* thread_;
  Trace* outer_;
  Model model_;
  Arrays arguments_;
  std::unordered_map<const Content*, std::pair<ContentPtr, Value>> values_;
  std::string doubts_;
  std::set<std::string> apart_;
  std::set<size_t> extents_read_;  ///< arguments
  bool reads_all_extents_ = false;
  bool takes_gradients_ = false;
  std::vector<Stretch> stretches_;
  std::vector<Written> written_;
  std::vector<std::pair<std::shared_ptr<Cell>, Array>> gradients_;
};

/// Nothing of this thread is recorded while it lives.
class [[nodiscard]] Untraced {
 public:
  Untraced();
  ~Untraced();
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;

 private:
  Trace* trace_;
};

/// Throws: a value of a region has no `wanted`, and of one whose trace ended nobody may use anything.
[[noreturn]] void refuse_contents(const Content& content, const std::string& wanted);

/// All changes of contents come here: `next` is what `value` holds.
void replace_content(Cell& cell, Content next, const Array& value);
/// Before a gradient is read, or written.
void note_gradient(Cell& cell, bool is_written);

/// Before somebody looks at the extents of an array: functions that are being captured may go on by what they are.
void note_extents(const Array& of);
/// Before somebody goes on by something that the extents of any array may decide, such as an error.
void note_all_extents();

/// Before somebody looks at the elements of `on`: a captured function goes on by what they are, and other elements have
/// another continuation. Throws Error in a region.
void decide(const Array& on);

}  // namespace halfstep::capture
