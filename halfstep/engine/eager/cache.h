// Cache of prepared calls by signature.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "halfstep/engine/eager/prepared.h"
#include "halfstep/engine/eager/signature.h"

namespace halfstep::eager {

/// Thread-safe. Holds at most kSets * kWays calls. A new call replaces the least recently used one of its set.
class Cache {
 public:
  /// nullptr if the signature is not cached.
  std::shared_ptr<const Prepared> find(const Signature& signature);
  void insert(const Signature& signature, std::shared_ptr<const Prepared> prepared);
  size_t size();

  static constexpr size_t kSets = 128, kWays = 8;

 private:
  struct Entry {
    uint64_t hash = 0;
    uint64_t used = 0;  ///< clock of its set (0: never)
    std::vector<uint64_t> words;
    std::shared_ptr<const Prepared> prepared;
  };
  struct Set {
    std::mutex mutex;
    uint64_t clock = 0;
    std::array<Entry, kWays> entries;
  };

  Set& set_of(const Signature& signature) { return sets_[(signature.hash() >> 32) % kSets]; }
  static Entry* entry_of(Set& set, const Signature& signature);

  std::array<Set, kSets> sets_;
};

}  // namespace halfstep::eager
