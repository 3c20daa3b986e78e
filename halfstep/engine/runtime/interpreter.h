// Runs each instruction on all threads of a pool as soon as its dependencies are done.
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

/// An instruction bound to memory, in the compact form that the interpreter needs.
struct Task {
  Device* device = nullptr;
  const kernels::Kernel* kernel = nullptr;  ///< nullptr: copy call.in[0] from `source` to call.out[0]
  kernels::Call call;
  std::span<const int64_t> phases;                     ///< number of pieces in each phase (a copy has one piece)
  const std::vector<DeviceMemory>* scratch = nullptr;  ///< one for each worker, or nullptr if the kernel needs none
  Device* source = nullptr;
  size_t bytes = 0;                ///< number of bytes that a copy moves
  int64_t flops = 0;               ///< number of arithmetic operations
  int dependencies = 0;            ///< number of instructions that must finish before this one
  std::span<const int> readers;    ///< instructions that read its results and are skipped when it fails
  std::span<const int> followers;  ///< instructions that only wait for it
};

/// The failed instruction with the lowest number. The number and the counts do not depend on the number of threads.
struct Failure {
  int instruction = -1;
  Diagnostic diagnostic;
  int failed = 0;   ///< number of failed instructions
  int skipped = 0;  ///< number of instructions skipped because an operand was never computed
};

/// Tasks are numbered in an order that meets their dependencies. One thread runs them in that order. Several threads
/// take ready tasks, and pieces of tasks that other threads have started. A short task takes less time than to hand it
/// to another thread, so the thread that makes it ready runs it. If all tasks are short, the caller runs them alone.
/// When a piece fails, the rest of its phase still runs, but its later phases do not. Tasks that read its results are
/// skipped. All other tasks run.
class Interpreter {
 public:
  explicit Interpreter(std::vector<Task> tasks);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// Returns nullopt on success. Timings are appended to `trace`. Calls must not overlap.
  std::optional<Failure> run(ThreadPool& pool, Trace* trace = nullptr);

  /// Lets the caller bind memory that changes between runs.
  std::vector<Task>& tasks() { return tasks_; }

 private:
  struct Progress;
  struct alignas(64) ShortTasks {
    std::vector<int> ready;  ///< tasks that only this worker runs
  };
  struct PieceFailure {
    int task;
    int phase;
    int64_t piece;
    Diagnostic diagnostic;
  };

  void reset(int threads);
  void run_serial();
  void work(int worker, const ThreadPool& pool);
  int advance(int task, int worker);
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
  std::vector<bool> is_short_;
  bool are_all_short_;
  std::unique_ptr<Progress[]> progress_;
  ReadyQueue ready_;
  std::unique_ptr<Shared<int>[]> open_;  ///< indexed by worker: a task with pieces for other workers, or -1
  std::vector<ShortTasks> short_;        ///< indexed by worker
  Shared<int> unfinished_{0};
  int threads_ = 0;
  std::mutex failures_mutex_;
  std::vector<PieceFailure> failures_;
  Trace* trace_ = nullptr;
  size_t trace_first_ = 0;
};

}  // namespace halfstep::runtime
