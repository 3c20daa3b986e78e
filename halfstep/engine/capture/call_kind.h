// What programs that were captured in a call are right for.
#pragma once

#include <string>
#include <vector>

#include "halfstep/engine/capture/array.h"

namespace halfstep::capture {

/// The switches of the thread, and of every input its type, some of whose extents may be open, its place, whether it is
/// differentiable and keeps its gradient, and which other input is the same array.
class CallKind {
 public:
  /// Of a call with these inputs, now.
  explicit CallKind(const Arrays& inputs);

  /// "" where a call with these inputs is of this kind now; else what was found and what is expected.
  std::string mismatch(const Arrays& inputs) const;

  /// Whether it would be of this kind if its inputs had other extents along the same axes.
  bool is_but_for_extents(const Arrays& inputs) const;
  /// Extents that these inputs have otherwise become open.
  void open(const Arrays& inputs);

  const Switches& switches() const { return switches_; }
  /// "f32[?, 3]" by input.
  std::vector<std::string> types() const;

 private:
  struct Input {
    Type type;
    Place place;
    bool differentiable, keeps_gradient;
    size_t same_as;  ///< the first input that is the same array
  };

  std::string switches_mismatch() const;

  Switches switches_;
  std::vector<Input> inputs_;
};

}  // namespace halfstep::capture
