// Tasks of a thread pool that may throw.
#pragma once

#include <exception>
#include <vector>

#include "halfstep/core/machine/parallel.h"

namespace halfstep {

/// Like ThreadPool::parallel_for. After all tasks have returned, throws the exception of the smallest failed index.
inline void parallel_for_throwing(ThreadPool& pool, int64_t count, FunctionRef<void(int64_t index)> task) {
  std::vector<std::exception_ptr> failures(static_cast<size_t>(count));
  pool.parallel_for(count, [&](int64_t index) {
    try {
      task(index);
    } catch (...) {
      failures[static_cast<size_t>(index)] = std::current_exception();
    }
  });
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace halfstep
