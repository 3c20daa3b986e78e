// Runs CUDA threads in turns on the host, and lists the CUDA kernels by operator.
#include <span>
#include <string_view>

#include "halfstep/engine/kernels/kernel.h"

#ifdef HALFSTEP_CUDA_ON_HOST

#include <ucontext.h>
#include <csetjmp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/kernels/cuda_on_host.h"

namespace cuda_on_host {
namespace {

constexpr unsigned kMostThreads = 1024;
constexpr unsigned kWarp = 32;
constexpr size_t kStackBytes = size_t{128} << 10;

/// State of a barrier for some threads.
struct Meeting {
  unsigned members = 0, arrived = 0, generation = 0;
};

/// Runs the threads of a block until one waits. Then another worker continues with the rest.
struct Worker {
  ucontext_t start;  ///< context for the first run, later runs use `place`
  std::jmp_buf place;
  bool has_run = false;
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStackBytes);
  unsigned thread = 0;
  bool waits = false;
};

struct Block {
  std::jmp_buf scheduler;
  std::vector<std::unique_ptr<Worker>> workers;
  Worker* running = nullptr;
  unsigned threads = 0, started = 0, done = 0;
  Meeting all, warps[kMostThreads / kWarp];
  uint64_t lanes[kMostThreads];
  const std::function<void()>* work = nullptr;
  bool moved = false;  ///< some thread advanced in this round
};

Block& block() {
  static Block one;
  return one;
}

/// Switches without a system call, which swapcontext would make.
void to_scheduler(Worker& me) {
  if (setjmp(me.place) == 0) std::longjmp(block().scheduler, 1);
}

void wait(Meeting& meeting) {
  Block& b = block();
  const unsigned generation = meeting.generation;
  b.moved = true;
  if (++meeting.arrived == meeting.members) {
    meeting.arrived = 0;
    ++meeting.generation;
    return;
  }
  Worker& me = *b.running;
  me.waits = true;
  do {
    to_scheduler(me);
  } while (meeting.generation == generation);
  me.waits = false;
  b.moved = true;
}

void work_on() {
  Block& b = block();
  Worker& me = *b.running;
  for (;;) {
    while (b.started < b.threads) {
      me.thread = threadIdx.x = b.started++;
      (*b.work)();
      ++b.done;
      b.moved = true;
    }
    to_scheduler(me);
  }
}

Worker& add_worker() {
  Block& b = block();
  Worker& worker = *b.workers.emplace_back(std::make_unique<Worker>());
  getcontext(&worker.start);
  worker.start.uc_stack.ss_sp = worker.stack.get();
  worker.start.uc_stack.ss_size = kStackBytes;
  worker.start.uc_link = nullptr;
  makecontext(&worker.start, &work_on, 0);
  return worker;
}

void resume(Worker& worker) {
  Block& b = block();
  b.running = &worker;
  threadIdx.x = worker.thread;
  if (setjmp(b.scheduler) != 0) return;
  if (worker.has_run) std::longjmp(worker.place, 1);
  worker.has_run = true;
  setcontext(&worker.start);
}

void start(unsigned threads) {
  Block& b = block();
  b.threads = threads;
  b.started = b.done = 0;
  b.all = {threads};
  for (unsigned t = 0; t < threads; t += kWarp) b.warps[t / kWarp] = {std::min(kWarp, threads - t)};
}

}  // namespace

void run(unsigned blocks, unsigned threads, const std::function<void()>& thread) {
  Block& b = block();
  b.work = &thread;
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    start(threads);
    while (b.done < threads) {
      b.moved = false;
      for (const auto& worker : b.workers) {
        if (worker->waits || b.started < threads) resume(*worker);
      }
      while (b.started < threads) resume(add_worker());
      if (b.moved) continue;
      std::fputs("cuda_on_host: threads wait for threads that do not come\n", stderr);
      std::abort();
    }
  }
}

void wait_for_block() { wait(block().all); }
void wait_for_warp() { wait(block().warps[threadIdx.x / kWarp]); }
uint64_t& lane_value(int of) { return block().lanes[threadIdx.x / kWarp * kWarp + static_cast<unsigned>(of)]; }
int lane() { return static_cast<int>(threadIdx.x % kWarp); }

}  // namespace cuda_on_host

// The table of a build with CUDA, under another name beside the table of a build without it.
#define HALFSTEP_CUDA
#define cuda_kernels cuda_kernels_on_host
#define cpu_kernels cpu_kernels_beside_cuda
#define reference_kernel reference_kernel_beside_cuda
namespace halfstep::kernels {
std::span<const Kernel* const> cpu_kernels(std::string_view op);
std::span<const Kernel* const> cuda_kernels(std::string_view op);
const Kernel* reference_kernel(std::string_view op);
}  // namespace halfstep::kernels
#include "halfstep/engine/kernels/table.cpp"

#else

namespace halfstep::kernels {
std::span<const Kernel* const> cuda_kernels_on_host(std::string_view) { return {}; }
}  // namespace halfstep::kernels

#endif
