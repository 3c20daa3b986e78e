#include "halfstep/engine/runtime/flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "halfstep/core/base/status.h"
#include "halfstep/engine/runtime/backward.h"
#include "halfstep/engine/runtime/iterated_rows.h"

namespace halfstep::runtime {
namespace {

bool is_true(const std::byte* condition) { return *condition != std::byte{0}; }

const std::byte* address(const kernels::ConstView& view) { return view.as<const std::byte>(); }
std::byte* address(const kernels::View& view) { return view.as<std::byte>(); }

Tensor tensor_at(const std::byte* from, const Type& type) {
  Tensor made(type.dtype, type.dims);
  std::memcpy(made.raw(), from, made.bytes());
  return made;
}

}  // namespace

FlowRunner::FlowRunner(const Instruction& instruction, const ProgramSpec& spec, const TensorTable& tensors)
    : instruction_(instruction), spec_(*instruction.flow), holder_(spec), on_tensors_(needs_tensors()) {
  for (const RegionSpec& region : spec_.regions) regions_.push_back(std::make_unique<Region>(region, tensors));
  if (spec_.kind == FlowSpec::Kind::branch || on_tensors_) return;
  const Frame& body = *regions_[0]->frame();
  for (size_t i = 0; i < body.spec().outputs.size(); ++i) {
    const bool is_state = i >= conditions() && i < conditions() + spec_.states;
    for (int copies = is_state ? 2 : 1; copies > 0; --copies)
      memory_.emplace_back(device_at({}), body.slot(body.spec().outputs[i]).bytes());
  }
  states_.resize(spec_.states);
}

bool FlowRunner::needs_tensors() const {
  if (spec_.kind == FlowSpec::Kind::backward) return true;
  const auto has_open_slot = [this](const Operand& operand) { return slot(operand).storage == Storage::open; };
  return std::ranges::any_of(instruction_.in, has_open_slot) || std::ranges::any_of(instruction_.out, has_open_slot) ||
         std::ranges::any_of(spec_.regions, [](const RegionSpec& region) { return region.program == nullptr; });
}

void FlowRunner::make_worker_scratch(int threads) {
  for (const auto& region : regions_) region->make_worker_scratch(threads);
}

template <class Run>
auto FlowRunner::named(int64_t iteration, Run run) const {
  try {
    return run();
  } catch (const Error& error) {
    const std::string turn = iteration < 0 ? "" : fmt::format(", iteration {}", iteration);
    throw prefixed(fmt::format("{} '{}'{}", instruction_.op, instruction_.name, turn), error);
  }
}

template <class Argument>
void FlowRunner::show(size_t region, int64_t iteration, Argument argument) const {
  if (!spec_.watch_region) return;
  const std::vector<std::string>& names = spec_.regions[region].arguments;
  Tensors arguments;
  for (size_t i = 0; i < names.size(); ++i) arguments.emplace(names[i], argument(i));
  spec_.watch_region(instruction_.name, region, iteration, std::move(arguments));
}

RegionRun* FlowRunner::note(size_t region, int64_t iteration) const {
  if (trace_ == nullptr) return nullptr;
  Trace::Room& room = *trace_->room;
  if (room.left == 0) {
    ++room.left_out;
    return nullptr;
  }
  --room.left;
  RegionRun& made = trace_->regions.emplace_back();
  made.instruction = trace_->timings.size();
  made.region = region;
  made.iteration = iteration;
  made.trace.origin = trace_->origin;
  made.trace.ranges = trace_->ranges;
  made.trace.room = trace_->room;
  return &made;
}

void FlowRunner::run(const kernels::Call& call, std::vector<Tensor>& open_values, ThreadPool& pool, Trace* trace) {
  trace_ = trace;
  if (on_tensors_) return give(run_on_tensors(operands(call, open_values), pool), call, open_values);
  switch (spec_.kind) {
    case FlowSpec::Kind::branch: return run_branch(call, pool);
    case FlowSpec::Kind::loop: return run_loop(call, pool);
    case FlowSpec::Kind::scan: return run_scan(call, pool);
    case FlowSpec::Kind::backward: break;
  }
}

// ---- regions with known extents

void FlowRunner::run_branch(const kernels::Call& call, ThreadPool& pool) {
  const bool is_conditional = regions_.size() > 1;
  const size_t taken = is_conditional && !is_true(address(call.in[0])) ? 1 : 0;
  Frame& frame = *regions_[taken]->frame();
  const std::vector<Port>& inputs = frame.spec().inputs;
  const std::vector<Port>& outputs = frame.spec().outputs;
  const auto contents = [&](size_t i) { return address(call.in[i + (is_conditional ? 1 : 0)]); };
  for (size_t i = 0; i < inputs.size(); ++i) frame.feed(inputs[i], contents(i));
  show(taken, -1, [&](size_t i) { return tensor_at(contents(i), frame.slot(inputs[i]).type); });
  for (size_t i = 0; i < outputs.size(); ++i) frame.give(outputs[i], address(call.out[i]));
  run_frame(taken, -1, pool);
  for (size_t i = 0; i < outputs.size(); ++i) frame.fetch(outputs[i], address(call.out[i]));
}

void FlowRunner::run_frame(size_t region, int64_t iteration, ThreadPool& pool) const {
  RegionRun* noted = note(region, iteration);
  if (noted != nullptr) noted->program = regions_[region]->program();
  named(iteration, [&] { regions_[region]->frame()->run(0, pool, noted == nullptr ? nullptr : &noted->trace); });
}

void FlowRunner::run_loop(const kernels::Call& call, ThreadPool& pool) {
  start_iterations(call);
  const std::byte* const next = memory_[0].data();
  bool goes_on = is_true(address(call.in[0]));
  for (int64_t i = 0; goes_on && i < most_iterations(); ++i) {
    watch(i);
    run_iteration(call, pool, i);
    goes_on = is_true(next);
  }
  finish_iterations(call);
}

void FlowRunner::run_scan(const kernels::Call& call, ThreadPool& pool) {
  start_iterations(call);
  Frame& body = *regions_[0]->frame();
  const std::vector<Port>& inputs = body.spec().inputs;
  const int64_t count = call.in[spec_.states].dims[0];
  for (int64_t i = 0; i < count; ++i) {
    for (size_t s = spec_.states; s < spec_.states + spec_.scanned; ++s)
      body.feed(inputs[s], address(call.in[s]) + static_cast<size_t>(i) * body.slot(inputs[s]).bytes());
    run_iteration(call, pool, i);
  }
  finish_iterations(call);
}

void FlowRunner::watch(int64_t iteration) const {
  if (spec_.watch) named(iteration, [&] { spec_.watch(iteration); });
}

/// Binds the first states and the captured values.
void FlowRunner::start_iterations(const kernels::Call& call) {
  Frame& body = *regions_[0]->frame();
  const std::vector<Port>& inputs = body.spec().inputs;
  for (size_t i = 0; i < spec_.states; ++i) states_[i] = address(call.in[conditions() + i]);
  for (size_t i = spec_.states + spec_.scanned; i < inputs.size(); ++i)
    body.feed(inputs[i], address(call.in[conditions() + i]));
}

/// Each state is read from one buffer and written to the other. The buffers swap in each iteration.
void FlowRunner::run_iteration(const kernels::Call& call, ThreadPool& pool, int64_t iteration) {
  Frame& body = *regions_[0]->frame();
  const std::vector<Port>& outputs = body.spec().outputs;
  for (size_t i = 0; i < spec_.states; ++i) body.feed(body.spec().inputs[i], states_[i]);
  show(0, iteration, [&](size_t i) {
    const Slot& input = body.slot(body.spec().inputs[i]);
    if (i < spec_.states) return tensor_at(states_[i], input.type);
    const bool is_scanned = i < spec_.states + spec_.scanned;
    const size_t offset = is_scanned ? static_cast<size_t>(iteration) * input.bytes() : 0;
    return tensor_at(address(call.in[conditions() + i]) + offset, input.type);
  });
  size_t place = 0;
  given_.clear();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool is_state = i >= conditions() && i < conditions() + spec_.states;
    given_.push_back(memory_[place + (is_state && iteration % 2 != 0 ? 1 : 0)].data());
    place += is_state ? 2 : 1;
    body.give(outputs[i], given_.back());
  }
  run_frame(0, iteration, pool);
  for (size_t i = 0; i < outputs.size(); ++i) body.fetch(outputs[i], given_[i]);
  for (size_t i = 0; i < spec_.states; ++i) states_[i] = given_[conditions() + i];
  for (size_t i = conditions() + spec_.states; i < outputs.size(); ++i) {
    const size_t bytes = body.slot(outputs[i]).bytes();
    std::memcpy(address(call.out[i - conditions()]) + static_cast<size_t>(iteration) * bytes, given_[i], bytes);
  }
}

void FlowRunner::finish_iterations(const kernels::Call& call) {
  const Frame& body = *regions_[0]->frame();
  for (size_t i = 0; i < spec_.states; ++i)
    std::memcpy(address(call.out[i]), states_[i], body.slot(body.spec().inputs[i]).bytes());
}

// ---- regions on tensors

std::vector<Tensor> FlowRunner::operands(const kernels::Call& call, const std::vector<Tensor>& open_values) const {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < instruction_.in.size(); ++i) {
    if (instruction_.in[i].slot < 0) {
      tensors.emplace_back();
      continue;
    }
    const Slot& from = slot(instruction_.in[i]);
    if (from.storage == Storage::open) {
      tensors.push_back(open_values[static_cast<size_t>(from.index)]);
    } else {
      tensors.push_back(tensor_at(address(call.in[i]), from.type));
    }
  }
  return tensors;
}

void FlowRunner::give(std::vector<Tensor> results, const kernels::Call& call, std::vector<Tensor>& open_values) const {
  for (size_t i = 0; i < results.size(); ++i) {
    const Slot& to = slot(instruction_.out[i]);
    if (to.storage == Storage::open) {
      open_values[static_cast<size_t>(to.index)] = std::move(results[i]);
    } else {
      HS_CHECK(results[i].type() == to.type);
      std::memcpy(address(call.out[i]), results[i].raw(), results[i].bytes());
    }
  }
}

std::vector<Tensor> FlowRunner::run_on_tensors(const std::vector<Tensor>& operands, ThreadPool& pool) {
  switch (spec_.kind) {
    case FlowSpec::Kind::branch: {
      const bool is_conditional = regions_.size() > 1;
      const size_t taken = is_conditional && !is_true(operands[0].raw()) ? 1 : 0;
      return run_region(taken, -1, {operands.begin() + (is_conditional ? 1 : 0), operands.end()}, pool);
    }
    case FlowSpec::Kind::loop:
    case FlowSpec::Kind::scan: return results_of(iterate(operands, pool));
    case FlowSpec::Kind::backward: break;
  }
  return results_of(run_backward(
      spec_, operands, instruction_.out.size(), [&](size_t region, int64_t iteration, const std::vector<Tensor>& in) {
        if (operands[0].defined()) watch(iteration);
        return named(iteration, [&] { return regions_[region]->run(in, pool, note(region, iteration)); });
      }));
}

std::vector<Tensor> FlowRunner::run_region(size_t number, int64_t iteration, const std::vector<Tensor>& inputs,
                                           ThreadPool& pool) {
  Region& region = *regions_[number];
  return named(iteration, [&] {
    show(number, iteration, [&](size_t i) { return inputs[i]; });
    return region.run(inputs, pool, note(number, iteration));
  });
}

Iterated FlowRunner::iterate(const std::vector<Tensor>& operands, ThreadPool& pool) {
  std::vector<Tensor> inputs(operands.begin() + static_cast<std::ptrdiff_t>(conditions()), operands.end());
  std::vector<std::vector<Tensor>> rows(instruction_.out.size() - spec_.states);
  const bool is_loop = spec_.kind == FlowSpec::Kind::loop;
  const int64_t most = is_loop ? most_iterations() : inputs[spec_.states].dims()[0];
  bool goes_on = !is_loop || is_true(operands[0].raw());
  for (int64_t i = 0; goes_on && i < most; ++i) {
    if (is_loop) watch(i);
    for (size_t s = spec_.states; s < spec_.states + spec_.scanned; ++s)
      inputs[s] = row_of(operands[conditions() + s], i);
    std::vector<Tensor> given = run_region(0, i, inputs, pool);
    if (is_loop) goes_on = is_true(given[0].raw());
    for (size_t s = 0; s < spec_.states; ++s) inputs[s] = given[conditions() + s];
    for (size_t r = 0; r < rows.size(); ++r) rows[r].push_back(given[conditions() + spec_.states + r]);
  }
  return {{inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(spec_.states)}, std::move(rows)};
}

std::vector<Tensor> FlowRunner::results_of(Iterated iterated) const {
  std::vector<Tensor> results = std::move(iterated.last);
  for (const std::vector<Tensor>& rows : iterated.rows)
    results.push_back(named(-1, [&] { return stacked(rows, slot(instruction_.out[results.size()]).type); }));
  return results;
}

}  // namespace halfstep::runtime
