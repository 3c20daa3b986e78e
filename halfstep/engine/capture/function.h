// Functions of C++ that are captured.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "halfstep/engine/capture/array.h"

namespace halfstep::capture {

struct FunctionOptions {
  std::string name = "function";  ///< in messages
  bool full_graph = false;        ///< a decision (`decide`, `item`) on a value of an array is an error
  /// What else the function depends on, as text: another text is another kind of call. C++ cannot tell what a function
  /// reads besides its arguments and arrays.
  std::function<std::string()> depends = {};
  /// What it computes does not depend on extents but through operators: calls with others then need no new capture.
  bool open_extents = false;
};

/// A call runs the programs of the calls of its kind (call_kind.h), or the function itself where there is none, which
/// is captured then. Both give the same bits. Arrays that it reads besides its arguments are inputs, those that it
/// assigns to are written at each call. Not for several threads at once.
class Function {
 public:
  using Body = std::function<Arrays(const Arrays&)>;

  explicit Function(Body body, FunctionOptions options = {});
  ~Function();
  Function(Function&&) noexcept;
  Function& operator=(Function&&) noexcept;

  Arrays operator()(const Arrays& arguments);

  /// The programs by kind of call, the last that ran first, as text.
  std::vector<std::string> programs() const;
  /// For each call that no program fitted, what was found and what was expected.
  const std::vector<std::string>& why_recaptured() const;

  static constexpr size_t kMostKinds = 8;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The function, captured at once for calls like that with `examples`, which it runs on.
Function trace(Function::Body body, const Arrays& examples, FunctionOptions options = {});

/// The one element of an array as a number; a captured function goes on by it. Throws Error for several.
double item(const Array& array);

}  // namespace halfstep::capture

namespace halfstep {
using capture::trace;
}
