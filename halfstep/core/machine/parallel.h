// The thread pool, shared by the scheduler and by operators that split work by shape.
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

/// A fixed team of threads that includes the caller. Only one `run_on_all` may run at a time, and callbacks must not
/// throw. Every member runs with the library's floating-point environment. A waiting thread spins for some microseconds
/// before it sleeps, so that calls in quick succession need no wake-up. It does not spin if there are more members than
/// processors.
class ThreadPool {
 public:
  /// `threads` includes the caller. 0 means one per processor.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// Calls task(worker) once on every member and returns when all calls have returned. The caller is worker 0.
  void run_on_all(FunctionRef<void(int worker)> task);

  /// Calls task(index) for every index in [0, count), in no particular order. The split never depends on the number of
  /// threads.
  void parallel_for(int64_t count, FunctionRef<void(int64_t index)> task);

  /// For an idle member: returns when `ready` is true, or when it is time to sleep.
  void spin_until(FunctionRef<bool()> ready) const;

 private:
  void serve(int worker);

  /// Makes the members read `task_` or `stopping_`.
  void begin();

  int threads_;
  bool oversubscribed_;
  // Written before `generation_` is incremented, read after it.
  const FunctionRef<void(int)>* task_ = nullptr;
  bool stopping_ = false;
  std::atomic<uint32_t> generation_{0};
  std::atomic<int> running_{0};  ///< members that have not yet returned from the task
  std::vector<std::jthread> members_;
};

}  // namespace halfstep
