#include "halfstep/compile/plan.h"

#include <algorithm>
#include <numeric>

#include "halfstep/base/tensor.h"

namespace halfstep::compiler {
namespace {

using runtime::Instruction;
using runtime::Operand;
using runtime::Slot;
using runtime::Storage;

/// A stretch of an arena for the time from its first to its last user.
struct Buffer {
  size_t bytes = 0;
  int first = 0, last = 0;
  std::vector<int> users = {};       ///< instructions, its writer first; empty for what is fed and never read
  std::vector<size_t*> places = {};  ///< where the offset is to be written
  size_t offset = 0;

  size_t end() const { return offset + bytes; }
  bool meets(const Buffer& other) const { return first <= other.last && other.first <= last; }
  bool overlaps(const Buffer& other) const { return offset < other.end() && other.offset < end(); }
};

size_t padded(size_t bytes) { return aligned(std::max<size_t>(bytes, 1)); }

/// The slots of an arena: in `reuse` a result that is an operand byte for byte lies where that lies.
std::vector<Buffer> slot_buffers(Place place, bool reuse, runtime::ProgramSpec& spec, std::vector<int>& of_slot) {
  std::vector<Buffer> buffers;
  const auto is_here = [&](const Slot& slot) { return slot.storage == Storage::arena && slot.place == place; };
  std::vector<int> same_as(spec.slots.size(), -1);
  for (const Instruction& instruction : spec.instructions) {
    if (!reuse || !instruction.plan.in_place) continue;
    const int from = instruction.in[0].slot, to = instruction.out[0].slot;
    if (from >= 0 && to >= 0 && is_here(spec.slots[from]) && is_here(spec.slots[to])) same_as[to] = from;
  }
  const auto root = [&](int slot) {
    while (same_as[slot] >= 0) slot = same_as[slot];
    return slot;
  };
  for (int i = 0; i < static_cast<int>(spec.slots.size()); ++i) {
    Slot& slot = spec.slots[i];
    if (!is_here(slot)) continue;
    int& buffer = of_slot[root(i)];
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
    for (const Operand& operand : instruction.in) use(operand);
    for (const Operand& operand : instruction.out) use(operand);
    if (instruction.plan.scratch == 0 || instruction.place != place) continue;
    buffers.push_back({padded(instruction.plan.scratch), number, number, {number}, {&instruction.scratch_offset}});
    spec.naive_bytes += buffers.back().bytes;
  }
  return buffers;
}

/// Largest first, each into the smallest gap that holds it between those that live at the same time.
void assign_offsets(std::vector<Buffer>& buffers, bool reuse) {
  std::vector<Buffer*> order;
  order.reserve(buffers.size());
  for (Buffer& buffer : buffers) order.push_back(&buffer);
  if (reuse)
    std::stable_sort(order.begin(), order.end(), [](const Buffer* a, const Buffer* b) { return a->bytes > b->bytes; });
  std::vector<const Buffer*> placed;  // by offset
  for (Buffer* buffer : order) {
    size_t best = 0, best_gap = SIZE_MAX, free_from = 0;
    bool found = false;
    for (const Buffer* other : placed) {
      if (reuse && !other->meets(*buffer)) continue;
      const size_t gap = other->offset > free_from ? other->offset - free_from : 0;
      if (gap >= buffer->bytes && gap < best_gap) {
        best = free_from;
        best_gap = gap;
        found = true;
      }
      free_from = std::max(free_from, other->end());
    }
    buffer->offset = found ? best : free_from;
    for (size_t* place : buffer->places) *place = buffer->offset;
    placed.insert(std::upper_bound(placed.begin(), placed.end(), buffer,
                                   [](const Buffer* a, const Buffer* b) { return a->offset < b->offset; }),
                  buffer);
  }
}

void order_reuse(const std::vector<Buffer>& buffers, runtime::ProgramSpec& spec) {
  for (const Buffer& later : buffers) {
    if (later.first < 0) continue;
    std::vector<int>& order = spec.instructions[static_cast<size_t>(later.first)].order_dependencies;
    for (const Buffer& earlier : buffers) {
      if (earlier.last < later.first && earlier.overlaps(later))
        order.insert(order.end(), earlier.users.begin(), earlier.users.end());
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
    assign_offsets(buffers, reuse);
    size_t size = 0;
    for (const Buffer& buffer : buffers) size = std::max(size, buffer.end());
    spec.arenas.emplace(place, size);
    order_reuse(buffers, spec);
  }
}

}  // namespace halfstep::compiler
