// Settings that hold for what a thread does until the scope ends that made them.
#pragma once

#include "halfstep/core/base/place.h"

namespace halfstep::capture {

struct Switches {
  bool captures = true;   ///< captured functions run their programs; otherwise what they are made of, step by step
  bool gradients = true;  ///< what is computed can be differentiated
  bool training = false;  ///< layers that tell training from evaluation are in training
  Place place = {};       ///< where arrays are made
  auto operator<=>(const Switches&) const = default;
};

/// Those of this thread.
const Switches& switches();
/// The same with gradients switched off.
Switches without_gradients();

/// They hold on this thread while this lives, and those before it afterwards, however the scope ends.
class [[nodiscard]] Switched {
 public:
  explicit Switched(const Switches& now);
  ~Switched();
  Switched(const Switched&) = delete;
  Switched& operator=(const Switched&) = delete;

 private:
  Switches before_;
};

}  // namespace halfstep::capture
