#include "halfstep/compile/dependencies.h"

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

/// Slots of a tensor before and after its update differ, so whoever reads the buffer through another slot reads the old
/// contents.
void order_updates(runtime::ProgramSpec& spec) {
  std::map<int, int> updates;  // instruction by tensor
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

/// A set of instruction numbers.
class Bits {
 public:
  explicit Bits(size_t size) : words_((size + 63) / 64) {}
  bool has(int i) const { return (words_[static_cast<size_t>(i) / 64] >> (i % 64) & 1) != 0; }
  void add(int i) { words_[static_cast<size_t>(i) / 64] |= uint64_t{1} << (i % 64); }
  void add(const Bits& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace

void add_dependencies(runtime::ProgramSpec& spec) {
  add_data_dependencies(spec);
  order_updates(spec);
}

void reduce_order(runtime::ProgramSpec& spec) {
  const size_t count = spec.instructions.size();
  std::vector<Bits> before;  // by instruction: all that is done before it
  before.reserve(count);
  for (Instruction& instruction : spec.instructions) {
    Bits& known = before.emplace_back(count);
    const auto include = [&](int number) {
      known.add(number);
      known.add(before[static_cast<size_t>(number)]);
    };
    for (const int number : instruction.data_dependencies) include(number);
    std::vector<int>& order = instruction.order_dependencies;
    sort_unique(order);
    std::vector<int> needed;
    for (auto number = order.rbegin(); number != order.rend(); ++number) {  // later ones first: they imply earlier ones
      if (known.has(*number)) continue;
      include(*number);
      needed.push_back(*number);
    }
    order.assign(needed.rbegin(), needed.rend());
  }
}

}  // namespace halfstep::compiler
