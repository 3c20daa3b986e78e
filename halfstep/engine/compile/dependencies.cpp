#include "halfstep/engine/compile/dependencies.h"

#include <algorithm>
#include <map>

namespace halfstep::compiler {
namespace {

using runtime::Instruction;
using runtime::Operand;
using runtime::Slot;
using runtime::Storage;

void sort_unique(std::vector<int>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

void add_data_dependencies(runtime::ProgramSpec& spec) {
  for (size_t i = 0; i < spec.instructions.size(); ++i) {
    Instruction& instruction = spec.instructions[i];
    const int number = static_cast<int>(i);
    for (const Operand& operand : instruction.in) {
      if (operand.slot < 0) continue;
      Slot& slot = spec.slots[static_cast<size_t>(operand.slot)];
      slot.last = number;
      if (slot.first >= 0) instruction.data_dependencies.push_back(slot.first);
    }
    sort_unique(instruction.data_dependencies);
    for (const Operand& operand : instruction.out) {
      if (operand.slot < 0) continue;
      Slot& slot = spec.slots[static_cast<size_t>(operand.slot)];
      slot.first = slot.last = number;
    }
  }
  for (const runtime::Port& port : spec.outputs)
    spec.slots[static_cast<size_t>(port.slot)].last = static_cast<int>(spec.instructions.size());
}

/// A tensor has different slots before and after its update. An instruction that reads the buffer through another slot
/// therefore reads the old contents.
void order_updates(runtime::ProgramSpec& spec) {
  std::map<int, int> updates;  // updating instruction by tensor
  for (const Slot& slot : spec.slots) {
    if (slot.storage == Storage::tensor && slot.first >= 0) updates.emplace(slot.index, slot.first);
  }
  for (size_t i = 0; i < spec.instructions.size(); ++i) {
    const int number = static_cast<int>(i);
    for (const Operand& operand : spec.instructions[i].in) {
      if (operand.slot < 0) continue;
      const Slot& slot = spec.slots[static_cast<size_t>(operand.slot)];
      if (slot.storage != Storage::tensor || slot.first >= 0) continue;
      const auto update = updates.find(slot.index);
      if (update == updates.end() || update->second == number) continue;
      HS_CHECK(number < update->second);
      spec.instructions[static_cast<size_t>(update->second)].order_dependencies.push_back(number);
    }
  }
}

/// For each instruction, the set of earlier ones that are done before it, among the last kWindow. Memory does not grow
/// with the length of the program.
class Before {
 public:
  explicit Before(size_t count) : window_(std::min(kWindow, (count + 63) / 64 * 64)), rows_(window_ * window_ / 64) {}

  /// Call it for each instruction in order. `number` reuses the bits of the instruction that is now out of range.
  void begin(int number) {
    const size_t place = place_of(number);
    std::fill_n(row(number), words(), 0);
    if (static_cast<size_t>(number) < window_) return;
    for (size_t other = 0; other < window_; ++other) rows_[other * words() + place / 64] &= ~bit(place);
  }

  bool has(int number, int earlier) const {
    const size_t place = place_of(earlier);
    return reaches(number, earlier) && (rows_[place_of(number) * words() + place / 64] & bit(place)) != 0;
  }

  /// Adds `earlier` and all instructions done before it.
  void include(int number, int earlier) {
    if (!reaches(number, earlier)) return;
    const size_t place = place_of(earlier);
    uint64_t* own = row(number);
    own[place / 64] |= bit(place);
    const uint64_t* other = row(earlier);
    for (size_t w = 0; w < words(); ++w) own[w] |= other[w];
  }

 private:
  static constexpr size_t kWindow = 2048;

  static uint64_t bit(size_t place) { return uint64_t{1} << (place % 64); }
  size_t words() const { return window_ / 64; }
  size_t place_of(int number) const { return static_cast<size_t>(number) % window_; }
  uint64_t* row(int number) { return &rows_[place_of(number) * words()]; }
  bool reaches(int number, int earlier) const { return static_cast<size_t>(number - earlier) < window_; }

  size_t window_;
  std::vector<uint64_t> rows_;
};

}  // namespace

void add_dependencies(runtime::ProgramSpec& spec) {
  add_data_dependencies(spec);
  order_updates(spec);
}

void reduce_order(runtime::ProgramSpec& spec) {
  Before before(spec.instructions.size());
  for (size_t i = 0; i < spec.instructions.size(); ++i) {
    Instruction& instruction = spec.instructions[i];
    const int number = static_cast<int>(i);
    before.begin(number);
    for (const int earlier : instruction.data_dependencies) before.include(number, earlier);
    std::vector<int>& order = instruction.order_dependencies;
    sort_unique(order);
    std::vector<int> needed;
    for (auto earlier = order.rbegin(); earlier != order.rend();
         ++earlier) {  // later ones first, because they imply earlier ones
      if (before.has(number, *earlier)) continue;
      before.include(number, *earlier);
      needed.push_back(*earlier);
    }
    order.assign(needed.rbegin(), needed.rend());
  }
}

}  // namespace halfstep::compiler
