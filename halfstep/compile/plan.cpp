#include "halfstep/compile/plan.h"

#include <algorithm>
#include <numeric>

#include "halfstep/base/tensor.h"

namespace halfstep::compiler {
namespace {

using kernels::InPlace;
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

/// Which slots of an arena lie in one place: results that kernels leave where an operand is, or write over one that
/// nothing reads any more.
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
  /// Nothing reads what lies there later, nor as another operand, and it was not there before the first instruction.
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
  std::vector<int> last_;  ///< of a root: the last instruction that uses what lies there
};

/// The slots of an arena; in `reuse` those that share a place are one buffer.
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

/// An instruction that writes over its operand waits for all that used this before.
void keep_readers_before(Instruction& writer, const std::vector<int>& of_slot, const std::vector<Buffer>& buffers) {
  const int from = writer.in[0].slot, to = writer.out[0].slot;
  if (from < 0 || to < 0 || of_slot[from] < 0 || of_slot[from] != of_slot[to]) return;
  const std::vector<int>& users = buffers[static_cast<size_t>(of_slot[from])].users;
  writer.order_dependencies.insert(writer.order_dependencies.end(), users.begin(), users.end());
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
