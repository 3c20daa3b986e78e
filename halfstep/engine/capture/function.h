// C++ functions that are captured.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "halfstep/engine/capture/array.h"

namespace halfstep::capture {

struct FunctionOptions {
  std::string name = "function";  ///< used in messages
  bool full_graph = false;        ///< true: a decision (`decide`, `item`) on an array element is an error
  /// Other dependencies of the function as text. A different text is a different kind of call. C++ cannot detect the
  /// other things that a function reads besides its arguments and arrays.
  std::function<std::string()> depends = {};
  /// The result depends on extents only through operators. Calls with other extents then need no new capture.
  bool dynamic_dims = false;
};

/// A call runs the programs captured for calls of its kind (call_kind.h). Without any, it runs and captures the
/// function itself. Both return the same bits. Arrays that it reads besides its arguments are inputs. Arrays that it
/// assigns to are written at each call. Not thread-safe.
class Function {
 public:
  using Body = std::function<Arrays(const Arrays&)>;

  explicit Function(Body body, FunctionOptions options = {});
  ~Function();
  Function(Function&&) noexcept;
  Function& operator=(Function&&) noexcept;

  Arrays operator()(const Arrays& arguments);

  /// The programs for each kind of call as text, most recently used first.
  std::vector<std::string> programs() const;
  /// For each call that no program matched: the found and the expected property.
  const std::vector<std::string>& why_recaptured() const;

  static constexpr size_t kMostKinds = 8;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The function, captured at once by a run on `examples`.
Function trace(Function::Body body, const Arrays& examples, FunctionOptions options = {});

/// The single element of an array as a number. In a captured function this is a decision. Throws Error for several
/// elements.
double item(const Array& array);

}  // namespace halfstep::capture

namespace halfstep {
using capture::trace;
}
