#include "halfstep/engine/eager/team.h"

#include <pthread.h>

#include "halfstep/core/base/status.h"
#include "halfstep/engine/eager/errors.h"

namespace halfstep::eager {
namespace {

/// Never destroyed, because calls may come while static objects are destroyed. A forked child has none of the threads
/// and starts its own.
struct Threads {
  std::mutex mutex;  ///< held by the call that uses the threads
  int count = 0;
  std::unique_ptr<ThreadPool> pool;

  ThreadPool& started() {
    if (pool == nullptr) pool = std::make_unique<ThreadPool>(count);
    return *pool;
  }
};

Threads& process_threads() {
  static Threads* const kThreads = [] {
    auto* made = new Threads;
    pthread_atfork([] { process_threads().mutex.lock(); }, [] { process_threads().mutex.unlock(); },
                   [] {
                     (void)process_threads().pool.release();  // in the child, the pool's threads do not exist and
                                                              // cannot be joined
                     process_threads().mutex.unlock();
                   });
    return made;
  }();
  return *kThreads;
}

}  // namespace

void set_threads(int threads) {
  if (threads < 0) fail(errors::thread_count_negative(threads));
  Threads& all = process_threads();
  const std::lock_guard lock(all.mutex);
  all.count = threads;
  all.pool.reset();
}

int threads() {
  Threads& all = process_threads();
  const std::lock_guard lock(all.mutex);
  return all.started().threads();
}

Team::Team(bool wanted) {
  if (!wanted || !process_threads().mutex.try_lock()) return;
  pool_ = &process_threads().started();
}

Team::~Team() {
  if (pool_ != nullptr) process_threads().mutex.unlock();
}

}  // namespace halfstep::eager
