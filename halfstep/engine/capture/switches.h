// Settings of a thread, valid until the end of the scope that set them.
#pragma once

#include "halfstep/core/base/place.h"

namespace halfstep::capture {

struct Switches {
  bool captures = true;   ///< true: captured functions run their programs. false: they run step by step
  bool gradients = true;  ///< results can be differentiated
  bool training = false;  ///< layers are in training mode
  Place place = {};       ///< device of new arrays
  auto operator<=>(const Switches&) const = default;
};

/// Settings of this thread.
const Switches& switches();
/// A copy of the current switches with gradients switched off.
Switches without_gradients();

/// Applies switches on this thread during its lifetime, then restores the earlier ones, also after an exception.
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
