#include "halfstep/base/parallel.h"

#include <algorithm>
#include <chrono>

#include "halfstep/base/float_environment.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace halfstep {
namespace {

/// Some times what the system needs to put a thread to sleep and to wake it.
constexpr auto kLookOn = std::chrono::microseconds(50);
/// After so long the one that is waited for may need this very processor.
constexpr auto kLookHard = std::chrono::microseconds(5);

int processors() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads)
    : threads_(threads > 0 ? threads : processors()), oversubscribed_(threads_ > processors()) {
  for (int worker = 1; worker < threads_; ++worker) members_.emplace_back([this, worker] { serve(worker); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  start_.notify_all();
}

void ThreadPool::run_on_all(FunctionRef<void(int)> task) {
  const FloatEnvironment environment;
  if (threads_ == 1) return task(0);
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    running_ = threads_ - 1;
    ++generation_;
  }
  start_.notify_all();
  task(0);
  look_on([this] { return running_ == 0; });
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return running_ == 0; });
  task_ = nullptr;
}

void ThreadPool::look_on(FunctionRef<bool()> ready) const {
  if (oversubscribed_) return;
  const auto start = std::chrono::steady_clock::now();
  while (!ready()) {
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > kLookOn) return;
    if (waited > kLookHard) {
      std::this_thread::yield();
    } else {
      pause();
    }
  }
}

void ThreadPool::serve(int worker) {
  const FloatEnvironment environment;
  uint64_t seen = 0;
  while (true) {
    const FunctionRef<void(int)>* task = nullptr;
    look_on([&] { return generation_ != seen; });
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stopping_ || generation_ != seen; });
      if (stopping_) return;
      seen = generation_;
      task = task_;
    }
    (*task)(worker);
    {
      const std::lock_guard lock(mutex_);
      if (--running_ == 0) finished_.notify_one();
    }
  }
}

void ThreadPool::parallel_for(int64_t count, FunctionRef<void(int64_t)> task) {
  if (threads_ == 1 || count <= 1) {
    const FloatEnvironment environment;
    for (int64_t i = 0; i < count; ++i) task(i);
    return;
  }
  std::atomic<int64_t> next{0};
  run_on_all([&](int) {
    for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) task(i);
  });
}

}  // namespace halfstep
