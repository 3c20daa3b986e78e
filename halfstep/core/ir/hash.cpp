#include "halfstep/core/ir/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace halfstep::detail {

// The 64-bit and the 128-bit hash share one state. Only the digest differs.
Hash::Hash() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state_);
}
Hash::~Hash() { XXH3_freeState(state_); }

void Hash::update(std::span<const std::byte> bytes) { XXH3_128bits_update(state_, bytes.data(), bytes.size()); }

uint64_t Hash::digest64() const { return XXH3_64bits_digest(state_); }

std::string Hash::hex128() const {
  const XXH128_hash_t digest = XXH3_128bits_digest(state_);
  return fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
}

}  // namespace halfstep::detail
