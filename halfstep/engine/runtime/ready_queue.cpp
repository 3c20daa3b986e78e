#include "halfstep/engine/runtime/ready_queue.h"

namespace halfstep::runtime {

ReadyQueue::ReadyQueue(size_t tasks) : size_(tasks), slots_(std::make_unique<std::atomic<int>[]>(tasks)) { reset(); }

void ReadyQueue::reset() {
  for (size_t i = 0; i < size_; ++i) slots_[i].store(-1, std::memory_order_relaxed);
  head_.value.store(0, std::memory_order_relaxed);
  tail_.value.store(0, std::memory_order_relaxed);
}

void ReadyQueue::push(int task) {
  slots_[tail_.value.fetch_add(1, std::memory_order_relaxed)].store(task);
  wake(1);
}

int ReadyQueue::pop() {
  size_t head = head_.value.load(std::memory_order_relaxed);
  while (head < size_) {
    const int task = slots_[head].load(std::memory_order_acquire);
    if (task < 0) return -1;
    if (head_.value.compare_exchange_weak(head, head + 1, std::memory_order_relaxed)) return task;
  }
  return -1;
}

bool ReadyQueue::empty() const {
  const size_t head = head_.value.load();
  return head >= size_ || slots_[head].load() < 0;
}

void ReadyQueue::wake(int64_t count) {
  const int sleepers = sleepers_.value.load();
  if (sleepers == 0) return;
  epoch_.value.fetch_add(1);
  if (count >= sleepers) {
    epoch_.value.notify_all();
  } else {
    for (int64_t i = 0; i < count; ++i) epoch_.value.notify_one();
  }
}

}  // namespace halfstep::runtime
