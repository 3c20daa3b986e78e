// Hands ready tasks from thread to thread, and lets threads without work sleep.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace halfstep::runtime {

/// An atomic on a cache line of its own.
template <class T>
struct alignas(64) Shared {
  std::atomic<T> value;
};

/// Room for each task to be pushed once between two calls of `reset`, so that nothing is ever overwritten or reused.
class ReadyQueue {
 public:
  explicit ReadyQueue(size_t tasks);

  /// Empties it. Not while others use it.
  void reset();
  void push(int task);
  /// -1 when there is none.
  int pop();
  bool empty() const;

  /// Wakes up to `count` sleepers. What they are to see was stored before with sequential consistency.
  void wake(int64_t count);
  /// Sleeps until the next `wake`, unless `stay_awake()`, which must load what wakers store with sequential
  /// consistency.
  template <class StayAwake>
  void sleep_unless(StayAwake stay_awake) {
    // Either the waker sees this sleeper, or stay_awake() sees what the waker stored: both come first in their order
    // here.
    sleepers_.value.fetch_add(1);
    const int epoch = epoch_.value.load();
    if (!stay_awake()) epoch_.value.wait(epoch);
    sleepers_.value.fetch_sub(1);
  }

 private:
  size_t size_;
  std::unique_ptr<std::atomic<int>[]> slots_;  ///< -1 where nothing was pushed yet
  Shared<size_t> head_{0}, tail_{0};
  Shared<int> sleepers_{0}, epoch_{0};
};

}  // namespace halfstep::runtime
