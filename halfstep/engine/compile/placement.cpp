#include "halfstep/engine/compile/placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/compile/errors.h"
#include "halfstep/engine/compile/select.h"
#include "halfstep/engine/runtime/device.h"

namespace halfstep::compiler {
namespace {

/// Checks that the names are known and the devices exist.
void check_places(const std::map<std::string, Place>& places, const std::vector<std::string>& names,
                  std::string_view what, const std::string& graph) {
  for (const auto& [name, place] : places) {
    runtime::device_at(place);
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail(errors::place_for_unknown_name(graph, name, what, did_you_mean(name, names)));
  }
}

/// Follows explicit transfers: a moved value, and everything computed from it, stays at the destination.
class Placer {
 public:
  Placer(const Graph& graph, const CompileOptions& options) : graph_(graph), options_(options) {}

  Placement run() {
    runtime::device_at(options_.place);
    place_inputs();
    for (const Op op : graph_.ops()) place_op(op);
    for (const Value tensor : graph_.tensors()) result_.tensors.emplace(tensor.name(), options_.place);
    place_outputs();
    return std::move(result_);
  }

 private:
  void place_inputs() {
    std::vector<std::string> names;
    for (const Value argument : graph_.arguments()) {
      const auto given = options_.input_places.find(argument.name());
      result_.inputs.emplace(argument.name(), given == options_.input_places.end() ? Place{} : given->second);
      names.push_back(argument.name());
    }
    check_places(options_.input_places, names, "argument", graph_.name());
  }

  void place_op(Op op) {
    const bool is_transfer = op.is<ops::Transfer>();
    const Op mover = is_transfer ? op : mover_of_operands(op);
    Place place = mover ? destination(mover) : options_.place;
    if (!is_transfer && candidates(place, op.info().name).empty()) place = {};
    result_.ops.emplace(op.name(), place);
    for (const Value result : op.results()) {
      if (mover) movers_.emplace(result.node(), mover);
      const int state = op.info().output_at(result.port()).state_of;
      if (state >= 0 && op.in(state) && op.in(state).is_tensor()) result_.tensors.emplace(op.in(state).name(), place);
    }
  }

  static Place destination(Op transfer) {
    const std::string& text = ops::Transfer(transfer.node()).to();
    const auto place = parse_place(text);
    if (!place) fail(errors::transfer_to_unknown_device(transfer.where(), fmt::format("'{}'", text)));
    runtime::device_at(*place);
    return *place;
  }

  /// The transfer that decided the device of this operation's operands, null if there is none.
  Op mover_of_operands(Op op) const {
    Op first;
    Value first_operand;
    for (const Value operand : op.operands()) {
      const auto found = operand ? movers_.find(operand.node()) : movers_.end();
      if (found == movers_.end()) continue;
      if (first && destination(first) != destination(found->second)) {
        fail(errors::operands_on_different_devices(op.where(), first_operand.name(), to_string(destination(first)),
                                                   first.name(), operand.name(), to_string(destination(found->second)),
                                                   found->second.name()));
      }
      if (!first) {
        first = found->second;
        first_operand = operand;
      }
    }
    return first;
  }

  void place_outputs() {
    const std::vector<std::string>& names = graph_.body().output_names();
    check_places(options_.output_places, names, "output", graph_.name());
    const std::vector<Value> outputs = graph_.outputs();
    for (size_t i = 0; i < names.size(); ++i) {
      const auto given = options_.output_places.find(names[i]);
      const auto transfer = outputs[i].producer<ops::Transfer>();
      const Place wanted = transfer ? destination(*transfer) : Place{};
      if (transfer && given != options_.output_places.end() && given->second != wanted) {
        fail(
            errors::output_on_another_device(transfer->where(), names[i], to_string(given->second), to_string(wanted)));
      }
      result_.outputs.push_back(given == options_.output_places.end() ? wanted : given->second);
    }
  }

  const Graph& graph_;
  const CompileOptions& options_;
  std::map<const detail::ValueNode*, Op> movers_;
  Placement result_;
};

}  // namespace

Placement place(const Graph& graph, const CompileOptions& options) { return Placer(graph, options).run(); }

}  // namespace halfstep::compiler
