// The one thread pool: shared by the scheduler and by whoever splits work by shape.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace halfstep {

/// A non-owning reference to a callable; valid while the callable lives.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      FunctionRef(F&& f)  // NOLINT: implicit on purpose, as with a plain reference
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(static_cast<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, static_cast<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

/// A fixed team of threads that includes the caller. One `run_on_all` at a time; callbacks must not throw.
/// Every member runs with the library's floating-point environment. Whoever waits spins for some microseconds before
/// it sleeps, so that calls in quick succession cost no wake-up; not where members outnumber processors.
class ThreadPool {
 public:
  /// `threads` counts the caller; 0 means one per processor.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// Calls task(worker) once on every member, worker 0 being the caller, and returns when all have returned.
  void run_on_all(FunctionRef<void(int worker)> task);

  /// Calls task(index) for every index in [0, count), in no particular order. The split never depends on the number of
  /// threads.
  void parallel_for(int64_t count, FunctionRef<void(int64_t index)> task);

  /// For a member with nothing to do: returns once `ready`, or when it is time to sleep.
  void spin_until(FunctionRef<bool()> ready) const;

 private:
  void serve(int worker);

  /// Lets the members at what stands in `task_` or `stopping_`.
  void begin();

  int threads_;
  bool oversubscribed_;
  // Written before `generation_` goes up by one, read after.
  const FunctionRef<void(int)>* task_ = nullptr;
  bool stopping_ = false;
  std::atomic<uint32_t> generation_{0};
  std::atomic<int> running_{0};  ///< members that have not returned from the task
  std::vector<std::jthread> members_;
};

}  // namespace halfstep
