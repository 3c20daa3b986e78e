// Copy speed of this machine, to which bench/peers.py compares operators. bench/peers.py compiles this file.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include <immintrin.h>
#include <sys/mman.h>

#include "halfstep/core/base/divide.h"

namespace {

#if defined(__AVX512F__)
constexpr size_t kVector = 64;
void stream(std::byte* to, const std::byte* from) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
}
#elif defined(__AVX2__)
constexpr size_t kVector = 32;
void stream(std::byte* to, const std::byte* from) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
#else
constexpr size_t kVector = 16;
void stream(std::byte* to, const std::byte* from) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
#endif

void copy(std::byte* to, const std::byte* from, size_t bytes, bool streaming) {
  if (!streaming) {
    std::memcpy(to, from, bytes);
    return;
  }
  for (size_t i = 0; i < bytes; i += kVector) stream(to + i, from + i);
  _mm_sfence();
}

/// All threads begin a round together. They wait, without sleeping, until all have finished it.
struct Rounds {
  std::atomic<int> begun{0}, finished{0};
};

/// Memory is kept between calls, because the system takes longer to provide it than a copy takes.
std::byte* cached_memory(size_t which, size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  static std::map<std::pair<size_t, size_t>, std::byte*> cached;
  std::byte*& memory = cached[{which, bytes}];
  if (memory == nullptr) {
    const size_t padded = halfstep::round_up(bytes, kHugePage);
    memory = static_cast<std::byte*>(std::aligned_alloc(kHugePage, padded));
    madvise(memory, padded, MADV_HUGEPAGE);
    std::memset(memory, 1, padded);
  }
  return memory;
}

}  // namespace

/// Returns the median seconds of a copy of `bytes` (a multiple of 64 for each thread), split over threads that are
/// awake.
extern "C" double copy_seconds(int64_t bytes, int threads, int rounds, bool streaming) {
  const auto part = static_cast<size_t>(bytes) / static_cast<size_t>(threads) / 64 * 64;
  std::byte* from = cached_memory(0, static_cast<size_t>(bytes));
  std::byte* to = cached_memory(1, static_cast<size_t>(bytes));
  Rounds state;
  const auto work = [&](int worker) {
    for (int round = 0; round < rounds; ++round) {
      while (state.begun.load() <= round) _mm_pause();
      const size_t begin = part * static_cast<size_t>(worker);
      copy(to + begin, from + begin, part, streaming);
      ++state.finished;
    }
  };
  std::vector<std::thread> members;
  for (int worker = 1; worker < threads; ++worker) members.emplace_back(work, worker);
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    ++state.begun;
    copy(to, from, part, streaming);
    ++state.finished;
    while (state.finished.load() < threads * (round + 1)) _mm_pause();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  for (std::thread& member : members) member.join();
  std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
  return seconds[static_cast<size_t>(rounds / 2)];
}
