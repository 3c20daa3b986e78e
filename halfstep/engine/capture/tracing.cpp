#include "halfstep/engine/capture/tracing.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <ranges>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/engine/capture/errors.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::capture {
namespace {

thread_local Trace* innermost = nullptr;
std::atomic<Locator> locator_now{nullptr};

}  // namespace

std::string bytes_of(const Tensor& tensor) { return {reinterpret_cast<const char*>(tensor.raw()), tensor.bytes()}; }

void set_locator(Locator locator) { locator_now = locator; }

Location here() {
  const Locator locator = locator_now;
  return locator == nullptr ? Location() : locator();
}

Trace::Trace(Kind kind, std::string what, bool is_full)
    : kind_(kind), what_(std::move(what)), is_full_(is_full), began_(next_event()), outer_(innermost), stretches_(1) {
  innermost = this;
  thread_ = recording_thread();
}

Trace::~Trace() { leave(); }

void Trace::leave() {
  if (innermost == this) innermost = outer_;
}

Trace* Trace::current() { return innermost; }

Array Trace::argument(const Array& given) {
  const Value value = model_.graph.add_argument(model_.graph.unique_name("x"), given.type());
  arguments_.push_back(given);
  Array made = given;
  if (kind_ == Kind::region) {
    Content content{given.type(), given.place()};
    content.origin = fmt::format("an argument of {}", what_);
    content.differentiable = given.is_differentiable();
    made = Array(std::make_shared<const Content>(std::move(content)));
  }
  values_.insert_or_assign(made.content().get(), std::pair(made.content(), value));
  return made;
}

Value Trace::add_constant(const Array& array) {
  const Content& content = *array.content();
  if (!content.tensor.defined()) refuse_contents(content, "contents");
  if (content.maker != thread_) doubt("an array that other code computed while it ran, for example in another thread");
  return passes::add_tensor(model_, "constant", content.tensor.clone(), Role::constant);
}

std::unordered_map<const detail::ValueNode*, Place> Trace::places() const {
  std::unordered_map<const detail::ValueNode*, Place> places;
  for (const auto& [content, known] : values_) places.emplace(known.second.node(), content->place);
  return places;
}

Value Trace::value_of(const Array& array) {
  const ContentPtr& content = array.content();
  if (const auto known = values_.find(content.get()); known != values_.end()) return known->second.second;
  const bool is_outer = was_there(*array.cell()) || (outer_ != nullptr && !content->tensor.defined());
  Value value;
  if (is_outer) {
    if (!content->tensor.defined() && outer_ == nullptr) refuse_contents(*content, "contents");
    value = model_.graph.add_argument(model_.graph.unique_name("x"), content->type);
    arguments_.push_back(array);
  } else {
    value = add_constant(array);
  }
  values_.emplace(content.get(), std::pair(content, value));
  return value;
}

void Trace::record(const Recorded& what, std::span<const Array> inputs, std::span<const ContentPtr> results,
                   bool on_tape) {
  const std::vector<Value>& arguments = what.graph().arguments();
  std::unordered_map<const detail::ValueNode*, Value> stand_ins;
  bool is_same = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value value = value_of(inputs[i]);
    is_same = is_same && value.type() == arguments[i].type();
    stand_ins.emplace(arguments[i].node(), value);
  }
  const auto stand_in = [&](Value value) {
    Value& made = stand_ins[value.node()];
    if (!made) made = passes::add_tensor(model_, value.name(), what.model().tensors.at(value.name()), Role::constant);
    return made;
  };
  const size_t before = model_.graph.ops().size();
  copy_into(what.graph().body(), model_.graph.body(), stand_in, what.graph().outputs());
  const std::vector<Value> outputs = model_.graph.outputs();
  const Location location = here();
  const std::vector<Op> ops = model_.graph.ops();
  for (const Op op : ops | std::views::drop(before)) {
    op.node()->location = location;
    if (!on_tape) apart_.insert(op.name());
    if (!is_same) op.infer();
  }
  for (size_t i = 0; i < results.size(); ++i)
    values_.insert_or_assign(results[i].get(), std::pair(results[i], outputs[i]));
}

void Trace::decide(const Array& on) {
  const Value value = value_of(on);
  if (value.is_tensor()) return;  // a constant
  if (is_full_) {
    const Location location = here();
    fail(errors::value_asked_of_whole_program(
        fmt::format("{} (one program){}{}", what_, location.file.empty() ? "" : ": ", to_string(location)),
        value.name(), to_string(value.type())));
  }
  Stretch& ended = stretches_.back();
  ended.operations = model_.graph.ops().size();
  ended.arguments = arguments_.size();
  ended.decided = Array(on.content());  // keeps the present contents
  ended.outcome = bytes_of(on.content()->tensor);
  ended.where = here();
  stretches_.emplace_back();
}

void Trace::read_extents(const Array& of) {
  const auto known = values_.find(of.content().get());
  if (known == values_.end()) return;  // not computed by this function, so its extents are constant
  const Value value = known->second.second;
  if (value.is_tensor()) return;
  const auto found = std::ranges::find(graph_arguments(), value);
  if (found == graph_arguments().end()) return read_all_extents();
  extents_read_.insert(static_cast<size_t>(found - graph_arguments().begin()));
}

void Trace::doubt(const std::string& why) {
  if (doubts_.empty()) doubts_ = why;
  if (outer_ != nullptr) outer_->doubt(why);
}

void Trace::effect(size_t number, Arrays shown) {
  for (Array& array : shown) {
    (void)value_of(array);
    array = Array(array.content());  // keeps the present contents
  }
  stretches_.back().effects.emplace_back(number, std::move(shown));
}

Array Trace::draw(const std::function<Tensor()>& make) {
  if (kind_ == Kind::region) fail(errors::random_numbers_in_region(what_));
  const Array drawn(make());
  Array known = argument(drawn);
  stretches_.back().drawn.emplace_back(known, make);
  return known;
}

std::vector<Stretch> Trace::take_stretches() {
  stretches_.back().operations = model_.graph.ops().size();
  stretches_.back().arguments = arguments_.size();
  return std::move(stretches_);
}

void Trace::note_written(Cell& cell, bool is_gradient) {
  if (!was_there(cell)) return;
  if (kind_ == Kind::region) fail(errors::outer_array_written_in_region(what_));
  const auto same = [&](const Written& written) {
    return written.cell.get() == &cell && written.is_gradient == is_gradient;
  };
  if (std::ranges::none_of(written_, same)) written_.push_back({cell.shared_from_this(), is_gradient});
}

void Trace::write(Cell& cell, const ContentPtr& next, const Array& value) {
  values_.insert_or_assign(next.get(), std::pair(next, value_of(value)));
  note_written(cell, false);
}

void Trace::touch_gradient(Cell& cell) {
  if (!was_there(cell)) return;
  const auto is_own = [&](const Written& written) { return written.cell.get() == &cell && written.is_gradient; };
  if (std::ranges::any_of(written_, is_own)) return;  // a written gradient hides the earlier one
  const auto same = [&](const auto& known) { return known.first.get() == &cell; };
  if (std::ranges::none_of(gradients_, same)) gradients_.emplace_back(cell.shared_from_this(), cell.gradient);
}

void Trace::write_gradient(Cell& cell) { note_written(cell, true); }

const void* recording_thread() { return innermost == nullptr ? nullptr : &innermost; }

Untraced::Untraced() : trace_(std::exchange(innermost, nullptr)) {}
Untraced::~Untraced() { innermost = trace_; }

void refuse_contents(const Content& content, const std::string& wanted) {
  const Trace* trace = Trace::current();
  if (trace != nullptr && trace->kind() == Trace::Kind::region)
    fail(errors::contents_asked_in_region(trace->what(), wanted, content.origin));
  fail(errors::contents_asked_after_trace(wanted, content.origin));
}

void replace_content(Cell& cell, Content next, const Array& value) {
  const ContentPtr content = cell.held(std::move(next));
  if (Trace* trace = Trace::current()) trace->write(cell, content, value);
  cell.content = content;
}

void note_gradient(Cell& cell, bool is_written) {
  Trace* trace = Trace::current();
  if (trace == nullptr) return;
  is_written ? trace->write_gradient(cell) : trace->touch_gradient(cell);
}

void note_extents(const Array& of) {
  Trace* trace = Trace::current();
  if (trace == nullptr || of.dims().empty()) return;
  trace->kind() == Trace::Kind::function ? trace->read_extents(of) : note_all_extents();
}

void note_all_extents() {
  for (Trace* trace = Trace::current(); trace != nullptr; trace = trace->outer()) trace->read_all_extents();
}

void decide(const Array& on) {
  Trace* trace = Trace::current();
  if (trace == nullptr) return;
  note_extents(on);
  if (trace->kind() == Trace::Kind::region && on.cell()->born < trace->began())
    refuse_contents(*on.content(), "elements");
  if (trace->kind() == Trace::Kind::function) trace->decide(on);
}

}  // namespace halfstep::capture
