#include "halfstep/engine/runtime/interpreter.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "halfstep/core/machine/float_environment.h"
#include "halfstep/engine/runtime/value_range.h"

namespace halfstep::runtime {
namespace {

// A claim holds the phase and the number of its pieces taken from the front and from the back. It is one word, so that
// one increment takes a piece of the open phase. Even workers take from the front and odd workers from the back. Pieces
// are consecutive parts of an image, so a worker tends to read its own output from its own cache.
constexpr int kPieceBits = 25;
constexpr int64_t kMostPieces = int64_t{1} << (kPieceBits - 1);  // the other half is for claims that find no piece left
constexpr uint64_t kPieceMask = (uint64_t{1} << kPieceBits) - 1;
constexpr uint64_t kNothingToClaim = kMostPieces;
constexpr uint64_t first_piece(int phase) { return static_cast<uint64_t>(phase) << (2 * kPieceBits); }
constexpr uint64_t claim_of(int worker) { return worker % 2 == 0 ? 1 : uint64_t{1} << kPieceBits; }
constexpr int phase_of(uint64_t claim) { return static_cast<int>(claim >> (2 * kPieceBits)); }
constexpr int64_t from_front(uint64_t claim) { return static_cast<int64_t>(claim & kPieceMask); }
constexpr int64_t from_back(uint64_t claim) { return static_cast<int64_t>(claim >> kPieceBits & kPieceMask); }
constexpr int64_t taken(uint64_t claim) { return from_front(claim) + from_back(claim); }
constexpr int64_t piece_of(uint64_t claim, int worker, int64_t pieces) {
  return worker % 2 == 0 ? from_front(claim) : pieces - 1 - from_back(claim);
}

constexpr int kNone = -1;
constexpr int kHelped = -2;

/// Most bytes of operands and results, and most operations, of a short task: a core does that in a few microseconds. To
/// hand a task to another core takes about one.
constexpr int64_t kShortBytes = 96 << 10, kShortFlops = 192 << 10;

bool is_short(const Task& task) {
  int64_t bytes = 0;
  const auto add = [&](const auto& view) { bytes += view.size() * static_cast<int64_t>(size_of(view.dtype)); };
  std::ranges::for_each(task.call.in, add);
  std::ranges::for_each(task.call.out, add);
  return task.flops <= kShortFlops && bytes <= kShortBytes;
}

}  // namespace

struct Interpreter::Progress {
  std::atomic<int> waiting{0};  ///< number of unfinished dependencies
  std::atomic<bool> failed{false};
  std::atomic<bool> skipped{false};
  std::atomic<uint64_t> next{kNothingToClaim};
  std::atomic<int64_t> left{0};  ///< number of unfinished pieces in the open phase
};

Interpreter::Interpreter(std::vector<Task> tasks)
    : tasks_(std::move(tasks)), progress_(std::make_unique<Progress[]>(tasks_.size())), ready_(tasks_.size()) {
  for (const Task& task : tasks_) {
    for (const int64_t pieces : task.phases) HS_CHECK(pieces <= kMostPieces);
    is_short_.push_back(is_short(task));
  }
  are_all_short_ = std::ranges::all_of(is_short_, [](bool one) { return one; });
}

Interpreter::~Interpreter() = default;

std::optional<Failure> Interpreter::run(ThreadPool& pool, Trace* trace) {
  trace_ = trace;
  if (trace_ != nullptr) {
    trace_first_ = trace_->timings.size();
    trace_->timings.resize(trace_first_ + tasks_.size());
    if (trace_->ranges) trace_->results.resize(trace_->timings.size());
  }
  reset(are_all_short_ ? 1 : pool.threads());
  if (threads_ == 1) {
    const FloatEnvironment environment;
    run_serial();
  } else {
    pool.run_on_all([&](int worker) { work(worker, pool); });
  }
  return failures_.empty() ? std::nullopt : first_failure();
}

void Interpreter::reset(int threads) {
  failures_.clear();
  if (threads != threads_) {
    open_ = std::make_unique<Shared<int>[]>(static_cast<size_t>(threads));
    short_.resize(static_cast<size_t>(threads));
    for (ShortTasks& tasks : short_) tasks.ready.reserve(tasks_.size());
  }
  threads_ = threads;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    Progress& progress = progress_[i];
    progress.failed.store(false, std::memory_order_relaxed);
    progress.skipped.store(false, std::memory_order_relaxed);
    if (threads_ == 1) continue;
    progress.waiting.store(tasks_[i].dependencies, std::memory_order_relaxed);
    progress.next.store(kNothingToClaim, std::memory_order_relaxed);
  }
  if (threads_ == 1) return;
  for (int worker = 0; worker < threads_; ++worker) open_[static_cast<size_t>(worker)].value.store(kNone);
  unfinished_.value.store(static_cast<int>(tasks_.size()));
  ready_.reset();
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].dependencies == 0) ready_.push(static_cast<int>(i));
  }
}

void Interpreter::run_serial() {
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const int task = static_cast<int>(i);
    if (progress_[i].skipped.load(std::memory_order_relaxed)) {
      skip_readers(task);
      continue;
    }
    trace_begin(task);
    const auto phases = tasks_[i].phases;
    for (size_t phase = 0; phase < phases.size(); ++phase) {
      for (int64_t piece = 0; piece < phases[phase]; ++piece) run_piece(task, 0, static_cast<int>(phase), piece);
      if (progress_[i].failed.load(std::memory_order_relaxed)) {
        skip_readers(task);
        break;
      }
    }
    trace_end(task, 0);
  }
}

void Interpreter::work(int worker, const ThreadPool& pool) {
  const auto stay_awake = [this] { return unfinished_.value.load() == 0 || has_work(); };
  while (true) {
    int task = ready_.pop();
    if (task == kNone) task = help(worker);
    if (task == kNone) {
      if (unfinished_.value.load() == 0) return;
      pool.spin_until(stay_awake);
      ready_.sleep_unless(stay_awake);
      continue;
    }
    while (task >= 0 || !short_[static_cast<size_t>(worker)].ready.empty()) task = advance(task, worker);
  }
}

/// Runs a short task of the worker or, if it has none, `task`. Returns the task to run next, or kNone.
int Interpreter::advance(int task, int worker) {
  std::vector<int>& ready = short_[static_cast<size_t>(worker)].ready;
  if (ready.empty()) return execute(task, worker);
  const int first = ready.back();
  ready.pop_back();
  const int next = execute(first, worker);
  if (task < 0) return next;
  if (next >= 0) ready_.push(next);
  return task;
}

/// This function and the next four do the available work at once. They return a task that became ready, or kNone.
int Interpreter::execute(int task, int worker) {
  if (progress_[static_cast<size_t>(task)].skipped.load(std::memory_order_relaxed)) return complete(task, worker);
  trace_begin(task);
  return execute_from(task, 0, worker);
}

int Interpreter::execute_from(int task, int phase, int worker) {
  Progress& progress = progress_[static_cast<size_t>(task)];
  const auto phases = tasks_[static_cast<size_t>(task)].phases;
  for (; phase < static_cast<int>(phases.size()); ++phase) {
    const int64_t pieces = phases[static_cast<size_t>(phase)];
    if (pieces > 1) {
      progress.left.store(pieces, std::memory_order_relaxed);
      progress.next.store(first_piece(phase));
      open_[static_cast<size_t>(worker)].value.store(task);
      ready_.wake(pieces - 1);
      return drive(task, worker);
    }
    if (pieces == 1) run_piece(task, worker, phase, 0);
    if (progress.failed.load(std::memory_order_relaxed)) break;
  }
  return complete(task, worker);
}

/// Takes pieces of the open phase until none is left. The worker that finishes the last piece continues with the task.
int Interpreter::drive(int task, int worker) {
  Progress& progress = progress_[static_cast<size_t>(task)];
  const auto phases = tasks_[static_cast<size_t>(task)].phases;
  while (true) {
    const uint64_t claim = progress.next.fetch_add(claim_of(worker), std::memory_order_acq_rel);
    const int phase = phase_of(claim);
    const int64_t pieces = phases[static_cast<size_t>(phase)];
    if (taken(claim) >= pieces) break;
    run_piece(task, worker, phase, piece_of(claim, worker, pieces));
    if (progress.left.fetch_sub(1, std::memory_order_acq_rel) > 1) continue;
    open_[static_cast<size_t>(worker)].value.store(kNone);
    return progress.failed.load(std::memory_order_relaxed) ? complete(task, worker)
                                                           : execute_from(task, phase + 1, worker);
  }
  open_[static_cast<size_t>(worker)].value.store(kNone);
  return kNone;
}

/// Returns kHelped after it took pieces of another worker's task.
int Interpreter::help(int worker) {
  for (int other = 0; other < threads_; ++other) {
    const int task = open_[static_cast<size_t>(other)].value.load();
    if (task == kNone) continue;
    const uint64_t claim = progress_[static_cast<size_t>(task)].next.load(std::memory_order_acquire);
    const auto phases = tasks_[static_cast<size_t>(task)].phases;
    if (taken(claim) >= phases[static_cast<size_t>(phase_of(claim))]) continue;
    const int next = drive(task, worker);
    return next == kNone ? kHelped : next;
  }
  return kNone;
}

bool Interpreter::has_work() const {
  if (!ready_.empty()) return true;
  for (int worker = 0; worker < threads_; ++worker) {
    const int task = open_[static_cast<size_t>(worker)].value.load();
    if (task == kNone) continue;
    const uint64_t claim = progress_[static_cast<size_t>(task)].next.load();
    if (taken(claim) < tasks_[static_cast<size_t>(task)].phases[static_cast<size_t>(phase_of(claim))]) return true;
  }
  return false;
}

int Interpreter::complete(int task, int worker) {
  const Progress& progress = progress_[static_cast<size_t>(task)];
  if (progress.skipped.load(std::memory_order_relaxed)) {
    skip_readers(task);
  } else {
    trace_end(task, worker);
    if (progress.failed.load(std::memory_order_relaxed)) skip_readers(task);
  }
  int next = kNone;
  const auto release = [&](std::span<const int> successors) {
    for (const int successor : successors) {
      if (progress_[static_cast<size_t>(successor)].waiting.fetch_sub(1, std::memory_order_acq_rel) > 1) continue;
      if (is_short_[static_cast<size_t>(successor)]) {
        short_[static_cast<size_t>(worker)].ready.push_back(successor);
      } else if (next == kNone) {
        next = successor;
      } else {
        ready_.push(successor);
      }
    }
  };
  release(tasks_[static_cast<size_t>(task)].readers);
  release(tasks_[static_cast<size_t>(task)].followers);
  if (unfinished_.value.fetch_sub(1) == 1) ready_.wake(threads_);
  return next;
}

void Interpreter::run_piece(int task, int worker, int phase, int64_t piece) {
  const Task& what = tasks_[static_cast<size_t>(task)];
  Status status;
  if (what.kernel == nullptr) {
    status = transfer(*what.device, static_cast<std::byte*>(what.call.out[0].data), *what.source,
                      static_cast<const std::byte*>(what.call.in[0].data), what.bytes);
  } else if (what.scratch == nullptr) {
    status = what.device->launch(*what.kernel, what.call, phase, piece);
  } else {
    kernels::Call call = what.call;
    call.worker_scratch = (*what.scratch)[static_cast<size_t>(worker)].data();
    status = what.device->launch(*what.kernel, call, phase, piece);
  }
  if (!status.ok()) note_failure(task, phase, piece, status.diagnostic());
}

void Interpreter::note_failure(int task, int phase, int64_t piece, Diagnostic diagnostic) {
  const std::lock_guard lock(failures_mutex_);
  failures_.push_back({task, phase, piece, std::move(diagnostic)});
  progress_[static_cast<size_t>(task)].failed.store(true, std::memory_order_relaxed);
}

void Interpreter::skip_readers(int task) {
  for (const int reader : tasks_[static_cast<size_t>(task)].readers)
    progress_[static_cast<size_t>(reader)].skipped.store(true, std::memory_order_relaxed);
}

std::optional<Failure> Interpreter::first_failure() {
  const auto order = [](const PieceFailure& f) { return std::tuple(f.task, f.phase, f.piece); };
  const auto first = std::min_element(failures_.begin(), failures_.end(),
                                      [&](const auto& a, const auto& b) { return order(a) < order(b); });
  std::set<int> failed;
  for (const PieceFailure& failure : failures_) failed.insert(failure.task);
  Failure result{first->task, first->diagnostic, static_cast<int>(failed.size()), 0};
  for (size_t i = 0; i < tasks_.size(); ++i)
    result.skipped += progress_[i].skipped.load(std::memory_order_relaxed) ? 1 : 0;
  return result;
}

void Interpreter::trace_begin(int task) {
  if (trace_ != nullptr) trace_->timings[trace_first_ + static_cast<size_t>(task)].begin = now_ns() - trace_->origin;
}

void Interpreter::trace_end(int task, int worker) {
  if (trace_ == nullptr) return;
  Trace::Timing& timing = trace_->timings[trace_first_ + static_cast<size_t>(task)];
  timing.end = now_ns() - trace_->origin;
  timing.worker = worker;
  if (!trace_->ranges) return;
  const Task& what = tasks_[static_cast<size_t>(task)];
  for (const kernels::View& result : what.call.out)
    trace_->results[trace_first_ + static_cast<size_t>(task)].push_back(range_of(*what.device, result));
}

}  // namespace halfstep::runtime
