#include "halfstep/engine/eager/cache.h"

#include <algorithm>

namespace halfstep::eager {

Cache::Entry* Cache::entry_of(Set& set, const Signature& signature) {
  for (Entry& entry : set.entries) {
    if (entry.hash == signature.hash() && entry.used != 0 && std::ranges::equal(entry.words, signature.words()))
      return &entry;
  }
  return nullptr;
}

std::shared_ptr<const Prepared> Cache::find(const Signature& signature) {
  Set& set = set_of(signature);
  const std::lock_guard lock(set.mutex);
  Entry* entry = entry_of(set, signature);
  if (entry == nullptr) return nullptr;
  entry->used = ++set.clock;
  return entry->prepared;
}

void Cache::insert(const Signature& signature, std::shared_ptr<const Prepared> prepared) {
  Set& set = set_of(signature);
  const std::lock_guard lock(set.mutex);
  Entry* entry = entry_of(set, signature);
  if (entry == nullptr) entry = &*std::ranges::min_element(set.entries, {}, &Entry::used);
  const auto words = signature.words();
  *entry = {signature.hash(), ++set.clock, {words.begin(), words.end()}, std::move(prepared)};
}

size_t Cache::size() {
  size_t count = 0;
  for (Set& set : sets_) {
    const std::lock_guard lock(set.mutex);
    count += static_cast<size_t>(std::ranges::count_if(set.entries, [](const Entry& e) { return e.used != 0; }));
  }
  return count;
}

}  // namespace halfstep::eager
