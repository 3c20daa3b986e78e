// Branches and loops. Regions become C blocks whose values share the arena. Captured values are read in place. Each
// loop state has one location, shared with its result, and is updated at the end of an iteration.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/formats/c/errors.h"
#include "halfstep/formats/c/operators.h"
#include "halfstep/formats/c/orders.h"

namespace halfstep::formats::c {
namespace {

int64_t bytes_of(Value value) { return count_elements(value.dims()) * static_cast<int64_t>(size_of(value.dtype())); }

bool is_known(Value value) { return !value || value.type().is_static(); }

/// An unread result needs no memory, so its extents may be dynamic.
bool has_memory(Value result) { return is_known(result) || !result.unused(); }

/// Returns the memory position of each element of a part of `whole`, at one position of its first axis.
std::vector<int64_t> places_in_part(const Body& body, Value whole) {
  Dims dims = whole.dims();
  dims[0] = 1;
  return stored_places(dims, body.is_image(whole));
}

class FlowText {
 public:
  FlowText(Body& body, Op op, const std::string& program, const AddRegion& add_region)
      : body_(body), op_(op), parts_(op), program_(program), add_region_(add_region) {}

  void add() {
    switch (op_.info().flow) {
      case Flow::branch: return add_branch();
      case Flow::loop: return add_loop();
      case Flow::scan: return add_scan();
      default: return add_call();
    }
  }

 private:
  std::string comment() const { return fmt::format("{}: {}", op_.name(), op_.info().name); }
  Value operand(size_t i) const { return op_.operands()[parts_.first + i]; }
  const Block& region(size_t r = 0) const { return *op_.regions()[r]; }
  /// Returns an output of the body after its condition.
  Value made(size_t i) const { return region().outputs()[parts_.conditions + i]; }
  std::string condition() const { return memory_of(body_, op_, op_.in(0), "condition") + "[0]"; }

  /// Makes a region's argument another name of the value, which is read in place.
  void pass(Value value, Value argument) {
    if (!value.is_tensor()) return body_.alias(argument, value);
    body_.feed(argument, constant(value, argument));
  }
  std::string constant(Value tensor, Value place) {
    return contents_object(body_, name_of(place.name(), "stored"), body_.contents(tensor), body_.is_image(place));
  }
  void capture(const Block& block) {
    for (size_t i = parts_.states + parts_.scanned; i < parts_.values(); ++i) pass(operand(i), block.arguments()[i]);
  }

  /// Copies a value to the memory of `place`, which has its type and order.
  void copy(Value value, Value place, const std::string& to) {
    const std::string from = value.is_tensor() ? constant(value, place) : body_.read(value);
    if (from != to) body_.say(fmt::format("memcpy({}, {}, {});", to, from, bytes_of(value)));
  }

  void add_call() {
    capture(region());
    body_.finish(comment());
    add_region_(region());
    for (size_t i = 0; i < op_.results().size(); ++i) pass(made(i), op_.out(static_cast<int>(i)));
  }

  void add_branch() {
    const std::string chosen = condition();
    std::vector<std::string> results;
    for (const Value result : op_.results()) results.push_back(body_.write(result));
    body_.open(fmt::format("if ({})", chosen));
    for (size_t r = 0; r < 2; ++r) {
      if (r > 0) body_.open("else");
      capture(region(r));
      body_.finish(r == 0 ? comment() : "");
      add_region_(region(r));
      const std::vector<Value> outputs = region(r).outputs();
      for (size_t i = 0; i < outputs.size(); ++i) copy(outputs[i], op_.out(static_cast<int>(i)), results[i]);
      body_.close();
    }
    for (const Value result : op_.results()) body_.read(result);
  }

  void start_iterations() {
    for (size_t i = 0; i < parts_.states; ++i) {
      const Value result = op_.out(static_cast<int>(i));
      states_.push_back(body_.write(result));
      copy(operand(i), result, states_.back());
    }
    for (size_t i = parts_.states; i < op_.results().size(); ++i) {
      if (has_memory(op_.out(static_cast<int>(i)))) body_.write(op_.out(static_cast<int>(i)));
    }
  }

  void begin_iteration() {
    for (size_t i = 0; i < parts_.states; ++i) body_.alias(region().arguments()[i], op_.out(static_cast<int>(i)));
    capture(region());
  }

  /// Updates states. A state that becomes another state is saved until all have been read.
  void update_states() {
    std::vector<std::string> kept(parts_.states);
    for (size_t i = 0; i < parts_.states; ++i) {
      const Value value = made(i);
      const std::string from = value.is_tensor() ? "" : body_.read(value);
      if (from == states_[i] || std::ranges::find(states_, from) == states_.end()) continue;
      kept[i] = body_.scratch(name_of(op_.name(), "kept"), value.dtype(), count_elements(value.dims()));
      body_.say(fmt::format("memcpy({}, {}, {});", kept[i], from, bytes_of(value)));
    }
    for (size_t i = 0; i < parts_.states; ++i) {
      if (kept[i].empty()) {
        copy(made(i), op_.out(static_cast<int>(i)), states_[i]);
      } else {
        body_.say(fmt::format("memcpy({}, {}, {});", states_[i], kept[i], bytes_of(made(i))));
      }
    }
  }

  /// Keeps values that iterations read or produce until the last iteration has ended.
  void end_iterations() {
    body_.close();
    for (size_t i = 0; i < parts_.values(); ++i) {
      if (!operand(i).is_tensor()) body_.read(operand(i));
    }
    for (const Value result : op_.results()) {
      if (has_memory(result)) body_.read(result);
    }
  }

  void add_loop() {
    const auto at_most = get<int64_t>(op_.attributes(), "at_most");
    const std::string on = body_.variable(name_of(op_.name(), "on")),
                      turn = body_.variable(name_of(op_.name(), "turn"));
    start_iterations();
    body_.say(fmt::format("int64_t {} = 0;", turn));
    body_.say(fmt::format("uint8_t {} = {};", on, condition()));
    body_.open(at_most > 0 ? fmt::format("for (; {} && {} < {}; ++{})", on, turn, at_most, turn)
                           : fmt::format("for (; {}; ++{})", on, turn));
    if (at_most <= 0) {
      body_.counts_iterations = true;
      body_.say(fmt::format("if ({0}_MAX_ITERATIONS > 0 && {1} >= {0}_MAX_ITERATIONS) return {0}_TOO_MANY_ITERATIONS;",
                            program_, turn));
    }
    begin_iteration();
    body_.finish(comment());
    add_region_(region());
    body_.say(fmt::format("{} = {}[0];", on, memory_of(body_, op_, region().outputs()[0], "again")));
    update_states();
    end_iterations();
  }

  /// Takes an element of a scanned value, in place if the order matches.
  void take(size_t i, const std::string& turn) {
    const Value whole = operand(i), part = region().arguments()[i];
    const std::string from =
        fmt::format("({} + {} * {})", memory_of(body_, op_, whole, "scanned"), turn, count_elements(part.dims()));
    const std::vector<Step> steps = steps_between(places_in_part(body_, whole), stored(part));
    if (steps.empty()) return body_.feed(part, from);
    say_steps(body_, part.name(), part.dtype(), steps, count_elements(part.dims()), from, body_.write(part));
  }

  void stack(size_t i, const std::string& turn) {
    const Value whole = op_.out(static_cast<int>(i)), part = made(i);
    const std::string from = memory_of(body_, op_, part, "stacked");
    const std::string to = fmt::format("{} + {} * {}", body_.read(whole), turn, count_elements(part.dims()));
    const std::vector<Step> steps = steps_between(stored(part), places_in_part(body_, whole));
    if (steps.empty()) return body_.say(fmt::format("memcpy({}, {}, {});", to, from, bytes_of(part)));
    say_steps(body_, whole.name(), part.dtype(), steps, count_elements(part.dims()), from, to);
  }

  std::vector<int64_t> stored(Value value) const { return stored_places(value.dims(), body_.is_image(value)); }
  /// Returns no steps if each element has the same position in both.
  static std::vector<Step> steps_between(const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
    std::vector<Step> steps;
    for (size_t i = 0; i < from.size() && from != to; ++i) steps.push_back({to[i], from[i]});
    std::ranges::sort(steps, {}, &Step::to);
    return steps;
  }

  void add_scan() {
    const std::string turn = body_.variable(name_of(op_.name(), "turn"));
    start_iterations();
    body_.say(fmt::format("int32_t {};", turn));
    body_.open(fmt::format("for ({0} = 0; {0} < {1}; ++{0})", turn, operand(parts_.states).dims()[0]));
    begin_iteration();
    for (size_t i = parts_.states; i < parts_.states + parts_.scanned; ++i) take(i, turn);
    body_.finish(comment());
    add_region_(region());
    for (size_t i = parts_.states; i < op_.results().size(); ++i) stack(i, turn);
    update_states();
    end_iterations();
  }

  Body& body_;
  Op op_;
  FlowParts parts_;
  const std::string& program_;
  const AddRegion& add_region_;
  std::vector<std::string> states_;  ///< memory of each state
};

/// Whether the result stacks the outputs of all iterations.
bool is_stacked(Op op, Value result) { return static_cast<size_t>(result.port()) >= FlowParts(op).states; }

std::string remedy_for(Op op, Value result) {
  if (op.info().flow == Flow::branch) return "use branches whose results have the same extents";
  if (!is_stacked(op, result))
    return "use a state of fixed extents, large enough for all iterations, and fill the rest";
  return "stack it with a scan, or keep the needed part in a state";
}

}  // namespace

void add_flow(Body& body, Op op, const std::string& program, const AddRegion& add_region) {
  FlowText(body, op, program, add_region).add();
}

void require_known_extents(const Graph& graph) {
  std::vector<Diagnostic> objections;
  for (Op op : graph.all_ops()) {
    if (!std::ranges::all_of(op.operands(), is_known)) continue;  // reported where they are produced
    for (const Value result : op.results()) {
      if (is_known(result) || (op.info().flow == Flow::loop && is_stacked(op, result) && result.unused())) continue;
      const bool has_regions = op.info().flow != Flow::none;
      objections.push_back(
          placed(errors::c_run_time_extents(op.where(), op.info().name, result.name(), to_string(result.type()),
                                            has_regions ? remedy_for(op, result) : "remove it from the network"),
                 op.name(), op.where()));
    }
  }
  fail_on_any(std::move(objections));
}

}  // namespace halfstep::formats::c
