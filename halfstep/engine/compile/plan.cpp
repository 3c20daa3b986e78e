#include "halfstep/engine/compile/plan.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "halfstep/core/base/tensor.h"

namespace halfstep::compiler {
namespace {

using kernels::InPlace;
using runtime::Instruction;
using runtime::Operand;
using runtime::Slot;
using runtime::Storage;

/// A range of an arena, from its first to its last user.
struct Buffer {
  size_t bytes = 0;
  int first = 0, last = 0;
  /// The writer, then the instructions that must end before the memory is free. Empty for a fed value without readers.
  std::vector<int> users = {};
  std::vector<size_t*> places = {};  ///< offsets to set
  size_t offset = 0;

  size_t end() const { return offset + bytes; }
};

size_t padded(size_t bytes) { return aligned(std::max<size_t>(bytes, 1)); }

/// Finds slots of an arena that can have the same offset. Some kernels leave a result in their operand's memory, or
/// overwrite an operand that nothing reads later.
class Shared {
 public:
  Shared(Place place, const runtime::ProgramSpec& spec) : place_(place), spec_(spec), same_as_(spec.slots.size(), -1) {
    for (const Slot& slot : spec.slots) last_.push_back(slot.last);
  }

  bool is_here(int slot) const {
    return slot >= 0 && spec_.slots[slot].storage == Storage::arena && spec_.slots[slot].place == place_;
  }
  int root(int slot) const {
    while (same_as_[slot] >= 0) slot = same_as_[slot];
    return slot;
  }

  void join() {
    for (int i = 0; i < static_cast<int>(spec_.instructions.size()); ++i) {
      const Instruction& instruction = spec_.instructions[i];
      if (instruction.plan.in_place == InPlace::no) continue;
      const int from = instruction.in[0].slot, to = instruction.out[0].slot;
      if (!is_here(from) || !is_here(to)) continue;
      if (instruction.plan.in_place == InPlace::overwrite && !may_overwrite(i)) continue;
      same_as_[to] = root(from);
      last_[root(to)] = std::max(last_[root(to)], spec_.slots[to].last);
    }
  }

 private:
  /// True if the operand has no later reader, is not another operand too, and did not exist before the first
  /// instruction.
  bool may_overwrite(int number) const {
    const Instruction& instruction = spec_.instructions[number];
    const int from = root(instruction.in[0].slot);
    const auto is_other = [&](const Operand& operand) { return !is_here(operand.slot) || root(operand.slot) != from; };
    return last_[from] == number && spec_.slots[from].first >= 0 &&
           spec_.slots[from].bytes() >= spec_.slots[instruction.out[0].slot].bytes() &&
           std::all_of(instruction.in.begin() + 1, instruction.in.end(), is_other);
  }

  Place place_;
  const runtime::ProgramSpec& spec_;
  std::vector<int> same_as_;
  std::vector<int> last_;  ///< for a root: last instruction that uses its memory
};

/// The slots of an arena as buffers. With `reuse`, slots with one offset share a buffer.
std::vector<Buffer> slot_buffers(Place place, bool reuse, runtime::ProgramSpec& spec, std::vector<int>& of_slot) {
  std::vector<Buffer> buffers;
  Shared shared_places(place, spec);
  if (reuse) shared_places.join();
  for (int i = 0; i < static_cast<int>(spec.slots.size()); ++i) {
    Slot& slot = spec.slots[i];
    if (!shared_places.is_here(i)) continue;
    int& buffer = of_slot[shared_places.root(i)];
    if (buffer < 0) {
      buffer = static_cast<int>(buffers.size());
      buffers.push_back({padded(slot.bytes()), slot.first, slot.last});
    }
    Buffer& shared = buffers[buffer];
    shared.first = std::min(shared.first, slot.first);
    shared.last = std::max(shared.last, slot.last);
    shared.places.push_back(&slot.offset);
    of_slot[i] = buffer;
    spec.naive_bytes += padded(slot.bytes());
  }
  return buffers;
}

/// An instruction that overwrites its operand waits for all earlier users. Later instructions then only wait for it.
void keep_readers_before(Instruction& writer, const std::vector<int>& of_slot, std::vector<Buffer>& buffers) {
  const int from = writer.in[0].slot, to = writer.out[0].slot;
  if (from < 0 || to < 0 || of_slot[from] < 0 || of_slot[from] != of_slot[to]) return;
  std::vector<int>& users = buffers[static_cast<size_t>(of_slot[from])].users;
  writer.order_dependencies.insert(writer.order_dependencies.end(), users.begin(), users.end());
  users.clear();
}

std::vector<Buffer> buffers_at(Place place, bool reuse, runtime::ProgramSpec& spec) {
  std::vector<int> of_slot(spec.slots.size(), -1);
  std::vector<Buffer> buffers = slot_buffers(place, reuse, spec, of_slot);
  for (size_t i = 0; i < spec.instructions.size(); ++i) {
    Instruction& instruction = spec.instructions[i];
    const int number = static_cast<int>(i);
    const auto use = [&](const Operand& operand) {
      const int buffer = operand.slot < 0 ? -1 : of_slot[static_cast<size_t>(operand.slot)];
      if (buffer < 0) return;
      std::vector<int>& users = buffers[static_cast<size_t>(buffer)].users;
      if (users.empty() || users.back() != number) users.push_back(number);
    };
    if (instruction.plan.in_place == InPlace::overwrite) keep_readers_before(instruction, of_slot, buffers);
    for (const Operand& operand : instruction.in) use(operand);
    for (const Operand& operand : instruction.out) use(operand);
    if (instruction.plan.scratch == 0 || instruction.place != place) continue;
    buffers.push_back({padded(instruction.plan.scratch), number, number, {number}, {&instruction.scratch_offset}});
    spec.naive_bytes += buffers.back().bytes;
  }
  return buffers;
}

/// The placed buffers by lifetime: a segment tree over time.
class Placed {
 public:
  explicit Placed(int end) : count_(std::bit_ceil(static_cast<size_t>(end) + 2)), nodes_(2 * count_) {}

  void add(const Buffer& buffer) {
    by_first_.emplace(buffer.first, &buffer);
    for (const size_t whole : parts_of(buffer)) {
      nodes_[whole].buffers.push_back(&buffer);
      nodes_[whole].end = std::max(nodes_[whole].end, buffer.end());
      for (size_t at = whole; at > 0; at /= 2) nodes_[at].end_inside = std::max(nodes_[at].end_inside, buffer.end());
    }
  }

  /// Buffers whose lifetime overlaps that of `buffer`, by offset. Returns nullopt if there are more than `most`.
  std::optional<std::vector<const Buffer*>> meeting(const Buffer& buffer, size_t most) const {
    std::vector<const Buffer*> found;
    for (size_t at = leaf(buffer.first); at > 0; at /= 2) {
      if (found.size() + nodes_[at].buffers.size() > most) return std::nullopt;
      found.insert(found.end(), nodes_[at].buffers.begin(), nodes_[at].buffers.end());
    }
    const auto end = by_first_.upper_bound(buffer.last);
    for (auto later = by_first_.upper_bound(buffer.first); later != end; ++later) {
      if (found.size() == most) return std::nullopt;
      found.push_back(later->second);
    }
    std::ranges::sort(found, {}, &Buffer::offset);
    return found;
  }

  /// The largest end offset among buffers with overlapping lifetimes.
  size_t end_of_meeting(const Buffer& buffer) const {
    size_t end = 0;
    for (size_t at : parts_of(buffer)) {
      end = std::max(end, nodes_[at].end_inside);
      for (; at > 0; at /= 2) end = std::max(end, nodes_[at].end);
    }
    return end;
  }

 private:
  /// A time interval.
  struct Node {
    std::vector<const Buffer*> buffers = {};  ///< buffers that live during all of it, but not during all of its parent
    size_t end = 0, end_inside = 0;           ///< largest end of these, and of all that live during any part of it
  };

  size_t leaf(int time) const { return count_ + static_cast<size_t>(time + 1); }  // a fed value exists from time -1

  /// The nodes that make up a lifetime.
  std::vector<size_t> parts_of(const Buffer& buffer) const {
    std::vector<size_t> parts;
    for (size_t low = leaf(buffer.first), high = leaf(buffer.last) + 1; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) parts.push_back(low++);
      if (high % 2 == 1) parts.push_back(--high);
    }
    return parts;
  }

  size_t count_;
  std::vector<Node> nodes_;
  std::multimap<int, const Buffer*> by_first_;
};

/// Start of the smallest gap between `others` with room for `bytes`, or the end of all.
size_t best_gap(size_t bytes, const std::vector<const Buffer*>& others) {
  size_t best = 0, smallest = SIZE_MAX, free_from = 0;
  for (const Buffer* other : others) {
    const size_t gap = other->offset > free_from ? other->offset - free_from : 0;
    if (gap >= bytes && gap < smallest) {
      best = free_from;
      smallest = gap;
    }
    free_from = std::max(free_from, other->end());
  }
  return smallest == SIZE_MAX ? free_from : best;
}

/// Places the largest buffers first. Each goes into the smallest gap among buffers with overlapping lifetimes, or
/// after all of them if these are many.
void assign_shared_offsets(std::vector<Buffer>& buffers, int end) {
  constexpr size_t kMany = 1024;
  std::vector<Buffer*> order;
  order.reserve(buffers.size());
  for (Buffer& buffer : buffers) order.push_back(&buffer);
  std::ranges::stable_sort(order, std::greater{}, &Buffer::bytes);
  Placed placed(end);
  for (Buffer* buffer : order) {
    const auto others = placed.meeting(*buffer, kMany);
    buffer->offset = others ? best_gap(buffer->bytes, *others) : placed.end_of_meeting(*buffer);
    placed.add(*buffer);
  }
}

void assign_own_offsets(std::vector<Buffer>& buffers) {
  size_t end = 0;
  for (Buffer& buffer : buffers) {
    buffer.offset = end;
    end = buffer.end();
  }
}

/// An arena, by the last user of each stretch.
class Occupation {
 public:
  /// Assigns a stretch to `buffer` and returns the previous owners of its parts.
  std::set<const Buffer*> take(const Buffer& buffer) {
    std::set<const Buffer*> earlier;
    auto at = stretches_.upper_bound(buffer.offset);
    if (at != stretches_.begin()) --at;
    while (at != stretches_.end() && at->first < buffer.end()) {
      const auto [begin, stretch] = *at;
      if (stretch.end <= buffer.offset) {
        ++at;
        continue;
      }
      earlier.insert(stretch.user);
      at = stretches_.erase(at);
      if (begin < buffer.offset) stretches_.emplace(begin, Stretch{buffer.offset, stretch.user});
      if (stretch.end > buffer.end()) at = stretches_.emplace(buffer.end(), stretch).first;
    }
    stretches_.emplace(buffer.offset, Stretch{buffer.end(), &buffer});
    return earlier;
  }

 private:
  struct Stretch {
    size_t end;
    const Buffer* user;
  };
  std::map<size_t, Stretch> stretches_;  ///< by begin
};

/// The writer of a stretch waits for its last users, which in turn waited for earlier users.
void order_reuse(const std::vector<Buffer>& buffers, runtime::ProgramSpec& spec) {
  std::vector<const Buffer*> by_time;
  for (const Buffer& buffer : buffers) by_time.push_back(&buffer);
  std::ranges::stable_sort(by_time, {}, &Buffer::first);
  Occupation occupation;
  for (const Buffer* later : by_time) {
    for (const Buffer* earlier : occupation.take(*later)) {
      std::vector<int>& order = spec.instructions[static_cast<size_t>(later->first)].order_dependencies;
      order.insert(order.end(), earlier->users.begin(), earlier->users.end());
    }
  }
}

std::vector<Place> places_of(const runtime::ProgramSpec& spec) {
  std::vector<Place> places;
  for (const Slot& slot : spec.slots) places.push_back(slot.place);
  for (const Instruction& instruction : spec.instructions) places.push_back(instruction.place);
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

}  // namespace

void plan_memory(runtime::ProgramSpec& spec, bool reuse) {
  for (const Place place : places_of(spec)) {
    std::vector<Buffer> buffers = buffers_at(place, reuse, spec);
    if (buffers.empty()) continue;
    if (reuse)
      assign_shared_offsets(buffers, static_cast<int>(spec.instructions.size()));
    else
      assign_own_offsets(buffers);
    size_t size = 0;
    for (const Buffer& buffer : buffers) {
      size = std::max(size, buffer.end());
      for (size_t* offset : buffer.places) *offset = buffer.offset;
    }
    spec.arenas.emplace(place, size);
    order_reuse(buffers, spec);
  }
}

}  // namespace halfstep::compiler
