#include "halfstep/core/machine/parallel.h"

#include <algorithm>
#include <chrono>

#include "halfstep/core/machine/float_environment.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace halfstep {
namespace {

/// Total spin time: several times the time the system needs to put a thread to sleep and wake it.
constexpr auto kLookOn = std::chrono::microseconds(50);
/// Spin time without yielding. After it, the awaited thread may need this very processor.
constexpr auto kLookHard = std::chrono::microseconds(5);
/// Checks between two reads of the clock.
constexpr int kLooks = 8;

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
  stopping_ = true;
  begin();
}

void ThreadPool::begin() {
  ++generation_;
  generation_.notify_all();
}

void ThreadPool::run_on_all(FunctionRef<void(int)> task) {
  const FloatEnvironment environment;
  if (threads_ == 1) return task(0);
  task_ = &task;
  running_ = threads_ - 1;
  begin();
  task(0);
  spin_until([this] { return running_ == 0; });
  for (int running = running_; running != 0; running = running_) running_.wait(running);
}

void ThreadPool::spin_until(FunctionRef<bool()> ready) const {
  if (oversubscribed_) return;
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    for (int look = 0; look < kLooks; ++look, pause()) {
      if (ready()) return;
    }
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > kLookOn) return;
    if (waited > kLookHard) std::this_thread::yield();
  }
}

void ThreadPool::serve(int worker) {
  const FloatEnvironment environment;
  for (uint32_t seen = 0;; ++seen) {
    spin_until([&] { return generation_ != seen; });
    generation_.wait(seen);
    if (stopping_) return;
    (*task_)(worker);
    if (--running_ == 0) running_.notify_one();
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
