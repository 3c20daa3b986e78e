#include "halfstep/core/base/storage.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/system_memory.h"

namespace halfstep {
namespace {

size_t rounded(size_t bytes, size_t unit) {
  if (bytes > SIZE_MAX - unit) throw std::bad_alloc();
  return round_up(bytes, unit);
}

/// Free large blocks, oldest first.
class BlockCache {
 public:
  /// Takes the smallest block of at least `bytes` that would waste at most a quarter of its size. Sets `bytes` to its
  /// size.
  std::byte* take(size_t& bytes) {
    const std::lock_guard lock(mutex_);
    auto best = blocks_.end();
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
      if (block->bytes < bytes || block->bytes - bytes > block->bytes / 4) continue;
      if (best == blocks_.end() || block->bytes <= best->bytes) best = block;
    }
    if (best == blocks_.end()) return nullptr;
    std::byte* memory = best->memory;
    bytes = best->bytes;
    cached_ -= bytes;
    blocks_.erase(best);
    return memory;
  }

  void give(std::byte* memory, size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_) return std::free(memory);
    size_t gone = 0;
    for (; cached_ + bytes > limit_ || blocks_.size() - gone == kMostBlocks; ++gone) {
      cached_ -= blocks_[gone].bytes;
      std::free(blocks_[gone].memory);
    }
    blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<ptrdiff_t>(gone));
    blocks_.push_back({memory, bytes});
    cached_ += bytes;
  }

 private:
  struct Block {
    std::byte* memory;
    size_t bytes;
  };
  static constexpr size_t kMostBlocks = 64;

  const size_t limit_ = machine_memory() / 8;

  std::mutex mutex_;
  std::vector<Block> blocks_ = [] {
    std::vector<Block> none;
    none.reserve(kMostBlocks);
    return none;
  }();
  size_t cached_ = 0;
};

/// Never destroyed, because tensors that outlive static objects return their blocks to it.
BlockCache& block_cache() {
  static auto* blocks = new BlockCache;
  return *blocks;
}

std::shared_ptr<std::byte> allocate_large(size_t bytes) {
  constexpr size_t kStep = size_t{256} << 10;  // few distinct sizes make blocks reusable more often
  size_t capacity = rounded(bytes, kStep);
  std::byte* memory = block_cache().take(capacity);
  if (memory == nullptr) memory = system_memory(capacity);
  return {memory, [capacity](std::byte* block) { block_cache().give(block, capacity); }};
}

constexpr size_t kSmallBlock = 512;

/// Block sizes between small and large: eight sizes for each power of two. list_of numbers them.
constexpr size_t kSteps = 8;
constexpr size_t medium_size(size_t bytes) { return round_up(bytes, std::bit_floor(bytes) / kSteps); }
constexpr size_t list_of(size_t size) {
  const size_t power = std::bit_floor(size);
  return static_cast<size_t>(std::countr_zero(power / kSmallBlock)) * kSteps + (size - power) / (power / kSteps);
}

/// Free medium blocks, one list for each size.
class BlockLists {
 public:
  /// Returns nullptr if no block of this size is free.
  std::byte* take(size_t size) {
    const std::lock_guard lock(mutex_);
    std::byte*& first = first_[list_of(size)];
    if (first == nullptr) return nullptr;
    cached_ -= size;
    return std::exchange(first, next_of(first));
  }

  void give(std::byte* block, size_t size) noexcept {
    const std::lock_guard lock(mutex_);
    if (cached_ + size > kMostCached) free_all();
    std::byte*& first = first_[list_of(size)];
    std::memcpy(block, &first, sizeof first);
    first = block;
    cached_ += size;
  }

 private:
  static constexpr size_t kMostCached = size_t{64} << 20;
  /// A free block begins with the address of the next one.
  static std::byte* next_of(const std::byte* block) {
    std::byte* next = nullptr;
    std::memcpy(&next, block, sizeof next);
    return next;
  }

  void free_all() noexcept {
    for (std::byte*& first : first_) {
      while (first != nullptr) std::free(std::exchange(first, next_of(first)));
    }
    cached_ = 0;
  }

  std::mutex mutex_;
  std::array<std::byte*, list_of(kLargeBlock) + 1> first_ = {};
  size_t cached_ = 0;
};

/// Never destroyed, for the reason given at block_cache.
BlockLists& block_lists() {
  static auto* lists = new BlockLists;
  return *lists;
}

std::shared_ptr<std::byte> allocate_medium(size_t bytes) {
  const size_t size = medium_size(bytes);
  std::byte* memory = block_lists().take(size);
  if (memory == nullptr) memory = system_memory(size);
  return {memory, [size](std::byte* block) { block_lists().give(block, size); }};
}

/// Allocates one block together with its owner. malloc serves this size from its own cache, while aligned_alloc takes
/// several times as long.
std::shared_ptr<std::byte> allocate_small(size_t bytes) {
  auto block = std::make_shared_for_overwrite<std::byte[]>(bytes + kAlignment - 1);
  void* memory = block.get();
  size_t space = bytes + kAlignment - 1;
  auto* aligned = static_cast<std::byte*>(std::align(kAlignment, bytes, memory, space));
  return {std::move(block), aligned};
}

}  // namespace

std::shared_ptr<std::byte> allocate(size_t bytes) {
#if !defined(__SANITIZE_ADDRESS__)  // AddressSanitizer checks bounds and lifetime only for blocks of malloc
  if (bytes >= kLargeBlock) return allocate_large(bytes);
  if (bytes > kSmallBlock) return allocate_medium(bytes);
  return allocate_small(std::max<size_t>(bytes, 1));
#else
  return {system_memory(std::max<size_t>(bytes, 1)), std::free};
#endif
}

}  // namespace halfstep
