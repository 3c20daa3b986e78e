// The threads of direct calls.
#pragma once

#include "halfstep/core/machine/parallel.h"

namespace halfstep::eager {

/// How many threads a large call runs on, the caller's included; 0: one per processor, which is the default. Waits for
/// a call that has them. Results never depend on it. Throws Error for a negative number.
void set_threads(int threads);
int threads();

/// The threads of the process for one call, if it wants them and no other call has them.
class Team {
 public:
  explicit Team(bool wanted);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// nullptr: the caller is alone.
  ThreadPool* pool() const { return pool_; }

 private:
  ThreadPool* pool_ = nullptr;
};

}  // namespace halfstep::eager
