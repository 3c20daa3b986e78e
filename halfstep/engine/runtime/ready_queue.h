// Passes ready tasks between threads, and lets idle threads sleep.
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

/// Has room for each task to be pushed once between two calls of `reset`. No entry is ever overwritten or reused.
class ReadyQueue {
 public:
  explicit ReadyQueue(size_t tasks);

  /// Empties the queue. No other thread may use it meanwhile.
  void reset();
  void push(int task);
  /// -1 when there is none.
  int pop();
  bool empty() const;

  /// Wakes up to `count` sleepers. Data that they must see has to be stored before, with sequential consistency.
  void wake(int64_t count);
  /// Sleeps until the next `wake`, unless `stay_awake()` is true. It must load the wakers' data with sequential
  /// consistency.
  template <class StayAwake>
  void sleep_unless(StayAwake stay_awake) {
    // Either the waker sees this sleeper, or stay_awake() sees the waker's data: each thread does its own store first.
    sleepers_.value.fetch_add(1);
    const int epoch = epoch_.value.load();
    if (!stay_awake()) epoch_.value.wait(epoch);
    sleepers_.value.fetch_sub(1);
  }

 private:
  size_t size_;
  std::unique_ptr<std::atomic<int>[]> slots_;  ///< -1 in an entry that is not pushed yet
  Shared<size_t> head_{0}, tail_{0};
  Shared<int> sleepers_{0}, epoch_{0};
};

}  // namespace halfstep::runtime
