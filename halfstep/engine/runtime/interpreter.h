// Runs instructions when what they depend on is done, on all threads of a pool.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/machine/parallel.h"
#include "halfstep/engine/runtime/device.h"
#include "halfstep/engine/runtime/ready_queue.h"
#include "halfstep/engine/runtime/trace.h"

namespace halfstep::runtime {

/// An instruction bound to memory: what the interpreter needs of it, close together.
struct Task {
  Device* device = nullptr;
  const kernels::Kernel* kernel = nullptr;  ///< nullptr: copy call.in[0] from `source` to call.out[0]
  kernels::Call call;
  std::span<const int64_t> phases;                     ///< pieces of each phase; one piece for a copy
  const std::vector<DeviceMemory>* scratch = nullptr;  ///< for each worker; nullptr when the kernel needs none
  Device* source = nullptr;
  size_t bytes = 0;                ///< that a copy moves
  int dependencies = 0;            ///< instructions that must be done before
  std::span<const int> readers;    ///< instructions that read its results: skipped when it fails
  std::span<const int> followers;  ///< instructions that only have to wait for it
};

/// The lowest instruction that failed. The same for any number of threads, as are the counts.
struct Failure {
  int instruction = -1;
  Diagnostic diagnostic;
  int failed = 0;   ///< instructions
  int skipped = 0;  ///< instructions that need results which were never made
};

/// Tasks are numbered in an order that meets their dependencies; one thread runs them in that order. Several threads
/// take ready tasks, and pieces of tasks that others have begun. When a piece fails, the rest of its phase still runs,
/// its later phases do not, tasks that read its results are skipped, and everything else is done.
class Interpreter {
 public:
  explicit Interpreter(std::vector<Task> tasks);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// One at a time. Nothing when all went well. Timings are added behind those that `trace` has.
  std::optional<Failure> run(ThreadPool& pool, Trace* trace = nullptr);

  /// For binding memory that changes from run to run.
  std::vector<Task>& tasks() { return tasks_; }

 private:
  struct Progress;
  struct PieceFailure {
    int task;
    int phase;
    int64_t piece;
    Diagnostic diagnostic;
  };

  void reset(int threads);
  void run_serial();
  void work(int worker, const ThreadPool& pool);
  int execute(int task, int worker);
  int execute_from(int task, int phase, int worker);
  int drive(int task, int worker);
  int help(int worker);
  int complete(int task, int worker);
  void run_piece(int task, int worker, int phase, int64_t piece);
  void note_failure(int task, int phase, int64_t piece, Diagnostic diagnostic);
  void skip_readers(int task);
  bool has_work() const;
  std::optional<Failure> first_failure();
  void trace_begin(int task);
  void trace_end(int task, int worker);

  std::vector<Task> tasks_;
  std::unique_ptr<Progress[]> progress_;
  ReadyQueue ready_;
  std::unique_ptr<Shared<int>[]> open_;  ///< by worker: a task with pieces for others to take, or -1
  Shared<int> unfinished_{0};
  int threads_ = 0;
  std::mutex failures_mutex_;
  std::vector<PieceFailure> failures_;
  Trace* trace_ = nullptr;
  size_t trace_first_ = 0;
};

}  // namespace halfstep::runtime
