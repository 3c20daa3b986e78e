// State of the tracing of a function or a region.
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

/// Returns the current location in the traced program. The Python extension, for example, sets it once.
using Locator = Location (*)();
void set_locator(Locator locator);
Location here();

/// A change that a captured function made to an array that existed before it.
struct Written {
  std::shared_ptr<Cell> cell;
  bool is_gradient;  ///< true: its gradient changed. false: its contents
};

/// The outcome of a decision on a tensor.
std::string bytes_of(const Tensor& tensor);

/// The operations between two decisions, or before the first, and the actions outside of a program.
struct Stretch {
  size_t operations = 0;                                ///< number of operations in the graph at its end
  size_t arguments = 0;                                 ///< number of arguments at its end
  Array decided = {};                                   ///< array that decides the continuation (empty at the end)
  std::string outcome = {};                             ///< bytes of its elements
  Location where = {};                                  ///< location of the decision
  std::vector<std::pair<size_t, Arrays>> effects = {};  ///< number of each effect and its arrays
  std::vector<std::pair<Array, std::function<Tensor()>>> drawn = {};  ///< recomputed in each run, before the stretch
};

/// Records how arrays are computed on this thread during its lifetime. The operators of a function also run. Those of a
/// region do not run, and its values have no elements.
///
/// An array that existed before the trace becomes an argument at its first use, bound to the array itself. An array
/// that this thread makes of numbers during the trace is a constant. The origin of any other array is unknown.
class Trace {
 public:
  enum class Kind { function, region };
  /// `what` names the traced code in messages: "captured function 'step'", "body of while_loop". `is_full`: a decision
  /// is an error.
  Trace(Kind kind, std::string what, bool is_full = false);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Stops recording and keeps the recorded operations. Leave the innermost trace first.
  void leave();

  /// The innermost trace of this thread, nullptr if there is none.
  static Trace* current();
  Trace* outer() const { return outer_; }
  Kind kind() const { return kind_; }
  const std::string& what() const { return what_; }
  uint64_t began() const { return began_; }

  /// A new argument. For a function, it is `given` itself. For a region, it is an array of the same type without
  /// elements.
  Array argument(const Array& given);
  /// The arguments, followed by the other arrays that are read. graph_arguments() has their values in the graph.
  const Arrays& arguments() const { return arguments_; }
  const std::vector<Value>& graph_arguments() const { return model_.graph.arguments(); }
  /// Devices of the recorded values.
  std::unordered_map<const detail::ValueNode*, Place> places() const;

  /// The value of an array in the graph.
  Value value_of(const Array& array);
  /// Appends a computation. `results` are indexed by output. Gradients pass only if `on_tape`.
  void record(const Recorded& what, std::span<const Array> inputs, std::span<const ContentPtr> results, bool on_tape);

  /// Ends a stretch. The continuation depends on the elements of `on`.
  void decide(const Array& on);
  /// Records that the continuation may depend on the extents of `of`. If `of` was computed here, it may depend on those
  /// of all arguments.
  void read_extents(const Array& of);
  /// Records that the continuation may depend on the extents of any argument.
  void read_all_extents() { reads_all_extents_ = true; }
  /// Records that another call may behave differently. `why` names the dependency. The first reason counts.
  void doubt(const std::string& why);
  const std::string& doubts() const { return doubts_; }
  /// Records that gradients are computed through the trace.
  void take_gradients() { takes_gradients_ = true; }
  bool takes_gradients() const { return takes_gradients_; }
  bool depends_on_extents(size_t argument) const { return reads_all_extents_ || extents_read_.contains(argument); }
  /// Records an action that each run performs outside of programs, with the contents of `shown`.
  void effect(size_t number, Arrays shown);
  /// The result of `make`, which each run calls again.
  Array draw(const std::function<Tensor()>& make);
  /// Records that an array becomes `next`, the contents of `value`.
  void write(Cell& cell, const ContentPtr& next, const Array& value);
  /// Call it when a gradient is read or replaced.
  void touch_gradient(Cell& cell);
  void write_gradient(Cell& cell);

  Model& model() { return model_; }
  const std::set<std::string>& apart() const { return apart_; }
  /// Call it at the end.
  std::vector<Stretch> take_stretches();
  const std::vector<Written>& written() const { return written_; }
  /// Arrays whose gradients were read, with their first gradients.
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
  std::set<size_t> extents_read_;  ///< argument numbers
  bool reads_all_extents_ = false;
  bool takes_gradients_ = false;
  std::vector<Stretch> stretches_;
  std::vector<Written> written_;
  std::vector<std::pair<std::shared_ptr<Cell>, Array>> gradients_;
};

/// Suspends the recording on this thread during its lifetime.
class [[nodiscard]] Untraced {
 public:
  Untraced();
  ~Untraced();
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;

 private:
  Trace* trace_;
};

/// Throws: a value of a region has no `wanted`. A value of an ended trace cannot be used at all.
[[noreturn]] void refuse_contents(const Content& content, const std::string& wanted);

/// The only function that changes contents. `next` is the contents of `value`.
void replace_content(Cell& cell, Content next, const Array& value);
/// Call it before a gradient is read or written.
void note_gradient(Cell& cell, bool is_written);

/// Call it before the extents of an array are read. A function that is being captured may depend on them.
void note_extents(const Array& of);
/// Call it before code that may depend on the extents of any array, for example the text of an error.
void note_all_extents();

/// Call it before the elements of `on` are read. The continuation of a captured function depends on them: other
/// elements have another continuation. Throws Error in a region.
void decide(const Array& on);

}  // namespace halfstep::capture
