#include "halfstep/engine/compile/lower.h"

#include <algorithm>
#include <map>
#include <utility>

#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/compile/errors.h"

namespace halfstep::compiler {
namespace {

using runtime::Slot;
using runtime::Storage;

constexpr int kNone = -1;

class Lowerer {
 public:
  Lowerer(const Graph& graph, const Placement& placement, const std::set<std::string>& frozen, const Flows& flows)
      : graph_(graph), placement_(placement), frozen_(frozen), flows_(flows) {
    lowering_.spec.name = graph.name();
  }

  Lowering run() {
    lower_inputs();
    const std::vector<Op> ops = graph_.ops();
    for (size_t i = 0; i < ops.size(); ++i) positions_.emplace(ops[i].node(), i);
    for (const Op op : ops) lower_op(op);
    lower_outputs();
    return std::move(lowering_);
  }

 private:
  runtime::ProgramSpec& spec() { return lowering_.spec; }
  Slot& slot(int number) { return spec().slots[static_cast<size_t>(number)]; }

  int add_slot(Slot slot) {
    spec().slots.push_back(std::move(slot));
    return static_cast<int>(spec().slots.size()) - 1;
  }

  void lower_inputs() {
    for (const Value argument : graph_.arguments()) {
      const Place place = placement_.inputs.at(argument.name());
      const bool on_host = place.kind == DeviceKind::cpu;
      const int number = add_slot({argument.name(), argument.type(), place, on_host ? Storage::input : Storage::arena});
      if (on_host) slot(number).index = static_cast<int>(spec().inputs.size());
      set_home(argument, number);
      spec().inputs.push_back({argument.name(), number});
    }
  }

  int add_tensor(Value tensor, Place place) {
    const bool frozen = frozen_.contains(tensor.name());
    spec().tensors.push_back({tensor.name(), tensor.type(), place, frozen});
    const int index = static_cast<int>(spec().tensors.size()) - 1;
    return add_slot({tensor.name(), tensor.type(), place, Storage::tensor, index});
  }

  /// The slot of a value on the device that produced it.
  int home(Value value) {
    const auto found = slots_.find(value.node());
    if (found != slots_.end()) return found->second;
    HS_CHECK(value.is_tensor());
    return set_home(value, add_tensor(value, placement_.tensors.at(value.name())));
  }

  int set_home(Value value, int number) {
    slots_.emplace(value.node(), number);
    values_[number].push_back(value.node());
    return number;
  }

  /// The slot of a value at `place`. Creates it, with the instruction that fills it, if there is none yet.
  int at(Value value, Place place, const std::string& name, Op reader) {
    if (value.is_tensor() && frozen_.contains(value.name())) {
      const auto [found, is_new] = frozen_slots_.try_emplace({value.node(), place}, -1);
      if (is_new) found->second = add_tensor(value, place);
      return found->second;
    }
    const int from = home(value);
    if (slot(from).place == place) return from;
    if (slot(from).storage == Storage::open)
      fail(errors::dynamic_value_on_device(graph_.name(), value.name(), to_string(value.type()), to_string(place)));
    const auto [found, is_new] = moved_[from].try_emplace(place, -1);
    if (is_new)
      found->second = add_copy(from, name.empty() ? value.name() + ":" + to_string(place) : name, place, reader);
    return found->second;
  }

  int add_copy(int from, const std::string& name, Place place, Op reader) {
    const int to = add_slot({name, slot(from).type, place});
    runtime::Instruction copy;
    copy.name = name;
    copy.op = place == slot(from).place ? "copy" : "transfer";
    copy.location = reader ? to_string(reader.location()) : "";
    copy.place = place;
    copy.in = {{from, "x"}};
    copy.out = {{to, "out"}};
    append(std::move(copy), Op());
    return to;
  }

  void append(runtime::Instruction instruction, Op op) {
    spec().instructions.push_back(std::move(instruction));
    lowering_.ops.push_back(op);
  }

  void lower_op(Op op) {
    const Place place = placement_.ops.at(op.name());
    if (op.is<ops::Transfer>()) {
      set_home(op.out(0), at(op.in(0), place, op.name(), op));
      return;
    }
    const std::vector<Value> operands = op.operands();
    std::map<int, int> states;  // slots by operand
    for (const int state : state_operands(op)) {
      const Value tensor = operands[static_cast<size_t>(state)];
      states.emplace(state, home(tensor));
      keep_old(op, tensor, state);
    }
    for (const Value tensor : updated_in_regions(op)) keep_old(op, tensor, kNone);
    runtime::Instruction instruction;
    instruction.name = op.name();
    instruction.op = op.info().name;
    instruction.location = to_string(op.location());
    instruction.place = place;
    for (size_t i = 0; i < operands.size(); ++i) {
      const int number = static_cast<int>(i);
      const std::string& port = op.info().inputs[static_cast<size_t>(op.port_of(number))].name;
      const auto state = states.find(number);
      const int from = state != states.end() ? state->second : operands[i] ? at(operands[i], place, "", op) : -1;
      instruction.in.push_back({from, port});
    }
    for (int port = 0; port < static_cast<int>(op.node()->results.size()); ++port)
      instruction.out.push_back({lower_result(op, port, place, states), op.info().output_at(port).name});
    const auto flow = flows_.find(op.name());
    if (flow != flows_.end()) instruction.flow = flow->second;
    append(std::move(instruction), flow == flows_.end() ? op : Op());
  }

  /// Positions of the operands that are tensors updated by the operation, in order.
  static std::set<int> state_operands(Op op) {
    std::set<int> states;
    for (const Value result : op.results()) {
      const int state = op.info().output_at(result.port()).state_of;
      if (state >= 0 && op.in(state) && op.in(state).is_tensor()) states.insert(state);
    }
    return states;
  }

  static std::vector<Value> updated_in_regions(Op op) {
    std::vector<Value> tensors;
    for (const auto& region : op.regions()) {
      for (const Op inner : region->ops()) {
        for (const int state : state_operands(inner)) tensors.push_back(inner.operands()[static_cast<size_t>(state)]);
        const std::vector<Value> further = updated_in_regions(inner);
        tensors.insert(tensors.end(), further.begin(), further.end());
      }
    }
    return tensors;
  }

  int lower_result(Op op, int port, Place place, const std::map<int, int>& states) {
    const Value result = op.out(port);
    if (!result) return -1;
    Slot made{result.name(), result.type(), place};
    if (!result.type().is_static()) {
      made.storage = Storage::open;
      made.index = spec().open_values++;
    }
    const auto state = states.find(op.info().output_at(port).state_of);
    if (state != states.end()) {
      made.storage = Storage::tensor;
      made.index = slot(state->second).index;
    }
    return set_home(result, add_slot(std::move(made)));
  }

  /// Call before `op` overwrites a tensor. Later readers of its old contents, and other operands of `op`, get a copy.
  /// Regions read the contents at the time they run.
  void keep_old(Op op, Value tensor, int state) {
    const int overwritten = home(tensor);
    const auto is_read_late = [&](const detail::ValueNode* value) {
      return std::ranges::any_of(value->uses, [&](const detail::Use& use) { return is_late(use, op, state); });
    };
    if (std::ranges::none_of(values_[overwritten], is_read_late)) return;
    const int old = add_copy(overwritten, tensor.name() + ":old", slot(overwritten).place, op);
    for (const detail::ValueNode* alias : std::exchange(values_[overwritten], {})) {
      slots_[alias] = old;
      values_[old].push_back(alias);
    }
    if (const auto moved = moved_.find(overwritten); moved != moved_.end()) moved_.emplace(old, moved->second);
  }

  bool is_late(const detail::Use& use, Op op, int state) const {
    if (use.op->block != &graph_.body()) return false;
    if (use.op == op.node()) return use.operand != state;
    const auto position = positions_.find(use.op);  // the return has no position because it comes last
    return position == positions_.end() || position->second > positions_.at(op.node());
  }

  void lower_outputs() {
    const std::vector<Value> outputs = graph_.outputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Value value = outputs[i];
      const int number = at(value, placement_.outputs[i], "", value.producer());
      Slot& made = slot(number);
      if (made.storage == Storage::arena && made.place.kind == DeviceKind::cpu) {
        made.storage = Storage::output;
        made.index = static_cast<int>(i);
      }
      spec().outputs.push_back({graph_.body().output_names()[i], number});
    }
  }

  const Graph& graph_;
  const Placement& placement_;
  const std::set<std::string>& frozen_;
  const Flows& flows_;
  Lowering lowering_;
  std::map<const detail::OpNode*, size_t> positions_;
  std::map<const detail::ValueNode*, int> slots_;                ///< slots of values on the device that produced them
  std::map<int, std::vector<const detail::ValueNode*>> values_;  ///< values by slot, the inverse of slots_
  std::map<int, std::map<Place, int>> moved_;                    ///< copies of slots on other devices
  std::map<std::pair<const detail::ValueNode*, Place>, int> frozen_slots_;
};

}  // namespace

Lowering lower(const Graph& graph, const Placement& placement, const std::set<std::string>& frozen,
               const Flows& flows) {
  return Lowerer(graph, placement, frozen, flows).run();
}

}  // namespace halfstep::compiler
