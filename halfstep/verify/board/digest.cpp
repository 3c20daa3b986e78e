#include "halfstep/verify/board/digest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nettle/md5.h>
#include <nettle/sha2.h>

#include <array>

namespace halfstep::board {
namespace {

template <size_t size>
std::string hex(const std::array<uint8_t, size>& digest) {
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

const uint8_t* start(std::span<const std::byte> bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

}  // namespace

std::string sha256(std::span<const std::byte> bytes) {
  sha256_ctx state;
  sha256_init(&state);
  sha256_update(&state, bytes.size(), start(bytes));
  std::array<uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&state, digest.size(), digest.data());
  return hex(digest);
}

Digests digests(std::span<const std::byte> bytes) {
  md5_ctx state;
  md5_init(&state);
  md5_update(&state, bytes.size(), start(bytes));
  std::array<uint8_t, MD5_DIGEST_SIZE> digest{};
  md5_digest(&state, digest.size(), digest.data());
  return {sha256(bytes), hex(digest)};
}

}  // namespace halfstep::board
