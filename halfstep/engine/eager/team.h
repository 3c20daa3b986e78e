// The threads of direct calls.
#pragma once

#include "halfstep/core/machine/parallel.h"

namespace halfstep::eager {

/// Number of threads for a large call, including the caller's (0, the default: one per processor). Waits for a running
/// call that uses the threads. Results never depend on it. Throws Error for a negative number.
void set_threads(int threads);
int threads();

/// The threads of the process for one call, if it wants them and no other call uses them.
class Team {
 public:
  explicit Team(bool wanted);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// nullptr: use only the calling thread.
  ThreadPool* pool() const { return pool_; }

 private:
  ThreadPool* pool_ = nullptr;
};

}  // namespace halfstep::eager
