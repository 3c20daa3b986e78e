// Operators that only move codes. Running the operator on positions yields the source of each element, so one function
// serves all of them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/compile/evaluate_operation.h"
#include "halfstep/formats/c/operators.h"
#include "halfstep/formats/c/orders.h"

namespace halfstep::formats::c {
namespace {

/// With more loops, a list of positions is shorter.
constexpr size_t kMostNests = 64;
constexpr int64_t kNowhere = 0, kFirst = 1;  // an operator without a fill number fills with 0

bool is_fill(Op op, size_t operand) { return op.port_of(static_cast<int>(operand)) == op.info().quant.fill; }

/// Whether elements of the result come from the operand, which is computed, or stored as in a concatenation.
bool is_moved(Op op, size_t operand) {
  const Value value = op.operands()[operand];
  if (!value || is_fill(op, operand)) return false;
  const bool is_index = op.port_of(static_cast<int>(operand)) == op.info().quant.index;
  return !value.is_tensor() || (!is_index && value.dtype() == op.out(0).dtype());
}

/// The operator by itself, on 64-bit integers.
struct Mover {
  Graph graph;
  Op op;
  std::vector<Tensor> operands;
};

/// Returns the source of each element of the result, as its position in all operands, counted from kFirst. kNowhere
/// marks fill values.
Tensor origins(Body& body, Op op) {
  Mover mover;
  OpSpec spec{&op.info(), {}, op.attributes(), op.name(), op.location()};
  int64_t next = kFirst;
  const auto operands = op.operands();
  for (size_t i = 0; i < operands.size(); ++i) {
    const Value operand = operands[i];
    Tensor contents;
    if (is_moved(op, i)) {
      contents = Tensor(DType::i64, operand.dims());
      const auto numbers = contents.data<int64_t>();
      std::iota(numbers.begin(), numbers.end(), next);
      next += contents.size();
    } else if (operand && is_fill(op, i)) {
      contents = Tensor(DType::i64, operand.dims());
      std::ranges::fill(contents.data<int64_t>(), kNowhere);
    } else if (operand) {
      contents = body.contents(operand);
    }
    spec.operands.push_back(operand ? mover.graph.add_argument(fmt::format("operand{}", i), contents.type()) : Value());
    mover.operands.push_back(std::move(contents));
  }
  mover.op = mover.graph.insert(std::move(spec));
  return compiler::evaluate(mover.op, mover.operands).front();
}

/// Returns the steps that move elements of one operand to the result, in the memory order of the result.
std::vector<Step> steps_from(Body& body, const Tensor& from, Value operand, int64_t first, Value result) {
  const auto places = stored_places(operand.dims(), body.is_image(operand));
  const auto result_places = stored_places(result.dims(), body.is_image(result));
  std::vector<Step> steps;
  for (int64_t i = 0; i < from.size(); ++i) {
    const int64_t place = from.data<int64_t>()[static_cast<size_t>(i)] - first;
    if (place >= 0 && place < static_cast<int64_t>(places.size()))
      steps.push_back({result_places[static_cast<size_t>(i)], places[static_cast<size_t>(place)]});
  }
  std::ranges::sort(steps, {}, &Step::to);
  return steps;
}

bool stays(const std::vector<Step>& steps, Value operand, Value result) {
  const int64_t count = count_elements(result.dims());
  return count == count_elements(operand.dims()) && count == static_cast<int64_t>(steps.size()) &&
         std::ranges::all_of(steps, [](const Step& step) { return step.to == step.from; });
}

void say_fill(Body& body, Op op, Value fill, const std::string& to) {
  const std::string type = tag(op.out(0).dtype());
  const bool is_real = is_float(op.out(0).dtype());
  const double value = fill ? element(body.contents(fill), 0) : 0.0;
  body.kernels.use("fill", {{"x", c_type(op.out(0).dtype())}, {"x_tag", type}});
  body.say(fmt::format("fill_{}({}, {}, {});", type, to, count_elements(op.out(0).dims()),
                       is_real ? c_number(static_cast<float>(value)) : c_number(static_cast<int64_t>(value))));
}

}  // namespace

std::string nests_object(Body& body, const std::string& hint, std::span<const Nest> nests) {
  std::string text;
  for (const Nest& nest : nests) {
    const auto list = [](const auto& values) {
      const std::vector<int64_t> numbers(values.begin(), values.end());
      return c_numbers(std::span<const int64_t>(numbers));
    };
    text += fmt::format("{}{{.to = {}, .from = {}, .count = {{{}}}, .to_step = {{{}}}, .from_step = {{{}}}}}",
                        text.empty() ? "" : ",\n    ", nest.first.to, nest.first.from, list(nest.count),
                        list(nest.to_step), list(nest.from_step));
  }
  return body.object(hint, "move", text, nests.size() * 68, fmt::format("[{}]", nests.size()));
}

std::string contents_object(Body& body, const std::string& hint, const Tensor& contents, bool is_image) {
  const auto places = stored_places(contents.dims(), is_image);
  if (contents.dtype() == DType::f32) {
    std::vector<float> floats(places.size());
    for (size_t i = 0; i < places.size(); ++i) floats[static_cast<size_t>(places[i])] = contents.data<float>()[i];
    return body.numbers(hint, std::span<const float>(floats));
  }
  std::vector<int64_t> codes(places.size());
  for (size_t i = 0; i < places.size(); ++i)
    codes[static_cast<size_t>(places[i])] = static_cast<int64_t>(element(contents, static_cast<int64_t>(i)));
  return body.numbers(hint, c_type(contents.dtype()), codes, size_of(contents.dtype()));
}

std::string memory_of(Body& body, Op op, Value value, const std::string& what) {
  return value.is_tensor() ? contents_object(body, name_of(op.name(), what), body.contents(value), false)
                           : body.read(value);
}

void say_steps(Body& body, const std::string& what, DType dtype, const std::vector<Step>& steps, int64_t count,
               const std::string& from, const std::string& to) {
  if (steps.empty()) return;
  const std::string type = tag(dtype);
  const Words words = {{"x", c_type(dtype)}, {"x_tag", type}};
  const std::vector<Nest> nests = nests_of(steps);
  if (nests.size() <= kMostNests) {
    body.kernels.use("move");
    body.kernels.use("move_elements", words);
    const std::string moves = nests_object(body, name_of(what, "moves"), nests);
    return body.say(fmt::format("move_{}({}, {}, {}, {});", type, from, to, moves, nests.size()));
  }
  constexpr int64_t kStays = -1;  // element comes from another operand, or is a fill value
  std::vector<int64_t> places(static_cast<size_t>(count), kStays);
  for (const Step& step : steps) places[static_cast<size_t>(step.to)] = step.from;
  body.kernels.use("pick", words);
  const std::string list = body.numbers(name_of(what, "places"), "int32_t", places, 4);
  body.say(fmt::format("pick_{}({}, {}, {}, {});", type, from, to, list, places.size()));
}

void add_move(Body& body, Op op) {
  const auto operands = op.operands();
  if (std::ranges::all_of(operands, [](Value operand) { return !operand || operand.is_tensor(); })) {
    std::vector<Tensor> contents;
    for (const Value operand : operands) contents.push_back(operand ? body.contents(operand) : Tensor());
    const Tensor moved = compiler::evaluate(op, contents).front();
    return body.feed(op.out(0), contents_object(body, name_of(op.name(), "stored"), moved, body.is_image(op.out(0))));
  }
  const Tensor from = origins(body, op);
  struct Part {
    Value operand;
    std::vector<Step> steps;
  };
  std::vector<Part> parts;
  int64_t first = kFirst;
  Value fill;
  size_t moved = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] && is_fill(op, i)) fill = operands[i];
    if (!is_moved(op, i)) continue;
    parts.push_back({operands[i], steps_from(body, from, operands[i], first, op.out(0))});
    first += count_elements(operands[i].dims());
    moved += parts.back().steps.size();
  }
  const bool is_one = parts.size() == 1 && !parts.front().operand.is_tensor();
  if (is_one && stays(parts.front().steps, parts.front().operand, op.out(0)))
    return body.alias(op.out(0), parts.front().operand);
  const std::string to = body.write(op.out(0));
  if (moved < static_cast<size_t>(from.size())) say_fill(body, op, fill, to);
  for (const Part& part : parts)
    say_steps(body, op.name(), op.out(0).dtype(), part.steps, from.size(), memory_of(body, op, part.operand, "stored"),
              to);
}

}  // namespace halfstep::formats::c
