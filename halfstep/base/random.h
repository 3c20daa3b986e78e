// Counter-based random numbers: a value depends on (seed, stream, index) alone, never on call order or threads.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace halfstep {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
std::array<uint32_t, 4> philox(uint64_t seed, uint64_t stream, uint64_t index);

/// Draws in sequence from one (seed, stream).
class Random {
 public:
  Random(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}
  uint32_t bits();
  /// Uniform in [0, 1), 24 bits.
  float uniform();
  /// Standard normal (Box and Muller), in double then rounded.
  float normal();
  /// Uniform in [0, bound), without modulo bias; bound > 0.
  uint64_t below(uint64_t bound);
  /// A permutation of 0..n-1 (Fisher and Yates).
  std::vector<int64_t> permutation(int64_t n);

 private:
  uint64_t seed_, stream_, index_ = 0;
  std::array<uint32_t, 4> block_{};
  int left_ = 0;
};

}  // namespace halfstep
