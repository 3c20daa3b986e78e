// Conditions under which captured programs are valid for a call.
#pragma once

#include <string>
#include <vector>

#include "halfstep/engine/capture/array.h"

namespace halfstep::capture {

/// Holds the switches of the thread. For every input, holds its type (with possible dynamic dimensions), its device,
/// whether it is differentiable, whether it keeps its gradient, and which other input is the same array.
class CallKind {
 public:
  /// The kind of a call with these inputs and the current switches.
  explicit CallKind(const Arrays& inputs);

  /// "" if a call with these inputs is of this kind now. Else the found and the expected property.
  std::string mismatch(const Arrays& inputs) const;

  /// Whether the call would be of this kind if its inputs had other extents along the same axes.
  bool is_but_for_extents(const Arrays& inputs) const;
  /// Makes every extent dynamic that differs in these inputs.
  void open(const Arrays& inputs);

  const Switches& switches() const { return switches_; }
  /// One entry per input, for example "f32[?, 3]".
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
