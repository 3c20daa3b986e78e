// Counter-based random numbers. A value depends only on (seed, stream, index), never on call order or threads.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "halfstep/core/base/host_device.h"

namespace halfstep {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
HS_HOST_DEVICE inline std::array<uint32_t, 4> philox(uint64_t seed, uint64_t stream, uint64_t index) {
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                               static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
  auto k0 = static_cast<uint32_t>(seed);
  auto k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

/// A sequence of draws from one (seed, stream).
class Random {
 public:
  Random(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}
  uint32_t bits();
  /// Uniform in [0, 1) with a resolution of 24 bits.
  float uniform();
  /// Standard normal (Box and Muller), computed in double and then rounded.
  float normal();
  /// Uniform in [0, bound), without modulo bias. `bound` is positive.
  uint64_t below(uint64_t bound);
  /// Random permutation of 0..n-1 (Fisher and Yates).
  std::vector<int64_t> permutation(int64_t n);

 private:
  uint64_t seed_, stream_, index_ = 0;
  std::array<uint32_t, 4> block_{};
  int left_ = 0;
};

}  // namespace halfstep
