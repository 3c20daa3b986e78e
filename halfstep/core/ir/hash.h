// Checksums of data that arrives in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace halfstep::detail {

/// XXH3 (github.com/Cyan4973/xxHash). Independent of the byte order of the machine.
class Hash {
 public:
  /// Number of lower-case hex digits of `digest128`.
  static constexpr size_t kHexDigits = 32;

  Hash();
  ~Hash();
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  uint64_t digest64() const;
  std::string hex128() const;

 private:
  XXH3_state_s* state_;
};

}  // namespace halfstep::detail
