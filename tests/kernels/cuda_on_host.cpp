// The turns of CUDA's threads on the host, and the CUDA kernels by operator.
#include <span>
#include <string_view>

#include "halfstep/kernels/kernel.h"

#ifdef HALFSTEP_CUDA_ON_HOST

#include <ucontext.h>

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

/// Where some threads meet.
struct Meeting {
  unsigned members = 0, arrived = 0, generation = 0;
};

struct Block {
  ucontext_t scheduler;
  std::vector<ucontext_t> threads = std::vector<ucontext_t>(kMostThreads);
  std::unique_ptr<char[]> stacks = std::make_unique<char[]>(kMostThreads * kStackBytes);
  bool done[kMostThreads];
  Meeting all, warps[kMostThreads / kWarp];
  uint64_t lanes[kMostThreads];
  const std::function<void()>* work = nullptr;
  bool moved = false;  ///< in this round some thread came further
};

Block& block() {
  static Block one;
  return one;
}

void wait(Meeting& meeting) {
  Block& b = block();
  const unsigned generation = meeting.generation;
  if (++meeting.arrived == meeting.members) {
    meeting.arrived = 0;
    ++meeting.generation;
    b.moved = true;
    return;
  }
  while (meeting.generation == generation) swapcontext(&b.threads[threadIdx.x], &b.scheduler);
  b.moved = true;
}

void thread_main() {
  Block& b = block();
  (*b.work)();
  b.done[threadIdx.x] = b.moved = true;
  swapcontext(&b.threads[threadIdx.x], &b.scheduler);
}

void start(unsigned threads) {
  Block& b = block();
  b.all = {threads};
  for (unsigned t = 0; t < threads; ++t) {
    b.done[t] = false;
    b.warps[t / kWarp] = {std::min(kWarp, threads - t / kWarp * kWarp)};
    getcontext(&b.threads[t]);
    b.threads[t].uc_stack.ss_sp = b.stacks.get() + t * kStackBytes;
    b.threads[t].uc_stack.ss_size = kStackBytes;
    b.threads[t].uc_link = nullptr;
    makecontext(&b.threads[t], &thread_main, 0);
  }
}

}  // namespace

void run(unsigned blocks, unsigned threads, const std::function<void()>& thread) {
  Block& b = block();
  b.work = &thread;
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    start(threads);
    for (unsigned left = threads; left > 0;) {
      b.moved = false;
      for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) {
        if (b.done[threadIdx.x]) continue;
        swapcontext(&b.scheduler, &b.threads[threadIdx.x]);
        if (b.done[threadIdx.x]) --left;
      }
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

// The table that a build with CUDA has, under another name beside the one without.
#define HALFSTEP_CUDA
#define cuda_kernels cuda_kernels_on_host
#define cpu_kernels cpu_kernels_beside_cuda
#define reference_kernel reference_kernel_beside_cuda
namespace halfstep::kernels {
std::span<const Kernel* const> cpu_kernels(std::string_view op);
std::span<const Kernel* const> cuda_kernels(std::string_view op);
const Kernel* reference_kernel(std::string_view op);
}  // namespace halfstep::kernels
#include "halfstep/kernels/table.cpp"

#else

namespace halfstep::kernels {
std::span<const Kernel* const> cuda_kernels_on_host(std::string_view) { return {}; }
}  // namespace halfstep::kernels

#endif
