#include "halfstep/engine/capture/apply.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/capture/errors.h"
#include "halfstep/engine/capture/tape.h"
#include "halfstep/engine/capture/tracing.h"

namespace halfstep::capture {
namespace {

bool is_differentiable(const Array& array) { return array && array.is_differentiable(); }

/// Whether the results go on the tape.
bool is_on_tape(std::span<const Array> inputs) {
  return switches().gradients && std::ranges::any_of(inputs, is_differentiable);
}

std::vector<Tensor> run(const Recorded& what, std::span<const Array> inputs, const std::vector<std::string>& further) {
  std::vector<const Tensor*> tensors;
  for (const Array& input : inputs) tensors.push_back(&input.content()->tensor);
  return what.run(tensors, further);
}

/// The step to put on the tape, with the values that its gradients read.
std::shared_ptr<Step> step_of(const std::shared_ptr<const Recorded>& what, std::span<const Array> inputs) {
  auto step = std::make_shared<Step>();
  step->what = what;
  for (const Array& input : inputs) step->inputs.push_back(input.content());
  return step;
}

std::vector<std::string> further_of(const Recorded& what, std::span<const Array> inputs) {
  if (what.graph().ops().size() == 1) return {};
  std::vector<bool> differentiable;
  for (const Array& input : inputs) differentiable.push_back(input.is_differentiable());
  return what.saved(differentiable);
}

/// Contents of the results from tensors, or from types only.
std::vector<ContentPtr> contents_of(const Recorded& what, std::span<const Type> types, std::span<const Tensor> tensors,
                                    const std::shared_ptr<Step>& step, const std::string& origin) {
  std::vector<ContentPtr> contents;
  for (size_t i = 0; i < types.size(); ++i) {
    Content content{types[i], what.places().out[i], i < tensors.size() ? tensors[i] : Tensor()};
    content.origin = origin;
    if (step != nullptr && is_float(types[i].dtype)) {
      content.producer = step;
      content.port = i;
      content.differentiable = true;
    }
    contents.push_back(std::make_shared<const Content>(std::move(content)));
  }
  if (step == nullptr) return contents;
  step->results.assign(contents.begin(), contents.end());
  step->kept->outputs.assign(tensors.begin(), tensors.end());
  return contents;
}

std::vector<Type> types_of(const Recorded& what) {
  std::vector<Type> types;
  for (const Value output : what.graph().outputs()) types.push_back(output.type());
  return types;
}

std::vector<ContentPtr> compute(const std::shared_ptr<const Recorded>& what, std::span<const Array> inputs,
                                bool on_tape) {
  const std::shared_ptr<Step> step = on_tape ? step_of(what, inputs) : nullptr;
  Trace* trace = Trace::current();
  if (trace != nullptr && trace->kind() == Trace::Kind::region) {
    const Location location = here();
    const std::string origin = fmt::format("'{}' of {}{}{}", what->graph().name(), trace->what(),
                                           location.file.empty() ? "" : ", ", to_string(location));
    return contents_of(*what, types_of(*what), {}, step, origin);
  }
  for (const Array& input : inputs) {
    if (!input.content()->tensor.defined()) refuse_contents(*input.content(), "elements");
  }
  const std::vector<std::string> further = on_tape ? further_of(*what, inputs) : std::vector<std::string>();
  std::vector<Tensor> tensors = run(*what, inputs, further);
  const size_t outputs = what->places().out.size();
  for (size_t i = 0; i < further.size(); ++i) step->kept->inside.emplace(further[i], tensors[outputs + i]);
  tensors.resize(outputs);
  std::vector<Type> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return contents_of(*what, types, tensors, step, "");
}

}  // namespace

Arrays apply_recorded(const std::shared_ptr<const Recorded>& what, std::span<const Array> inputs) {
  const bool on_tape = is_on_tape(inputs);
  const std::vector<ContentPtr> contents = compute(what, inputs, on_tape);
  if (Trace* trace = Trace::current()) trace->record(*what, inputs, contents, on_tape);
  Arrays results;
  for (const ContentPtr& content : contents) results.emplace_back(content);
  return results;
}

Arrays apply(const OpInfo& info, const Attributes& attributes, std::span<const Array> operands) {
  const Array* first = nullptr;
  std::vector<const Type*> types;
  Arrays inputs;
  for (const Array& operand : operands) {
    types.push_back(operand ? &operand.type() : nullptr);
    if (!operand) continue;
    if (first == nullptr) first = &operand;
    if (operand.place() != first->place())
      fail(errors::arrays_on_different_devices(
          info.name, fmt::format("arrays on {} and {}", to_string(first->place()), to_string(operand.place())),
          "all on one device"));
    inputs.push_back(operand);
  }
  const auto known = recorded_operator(info, attributes, types, first == nullptr ? switches().place : first->place());
  Arrays found = apply_recorded(known->recorded, inputs);
  Arrays results(info.outputs.size());
  for (size_t i = 0; i < found.size(); ++i) results[known->ports[i]] = std::move(found[i]);
  return results;
}

Array apply(std::string_view name, std::initializer_list<Array> operands, const Attributes& attributes) {
  return apply(require_operator(name, "call"), attributes, {operands.begin(), operands.size()})[0];
}

Array full(const Type& type, double value, Place place) {
  Tensor tensor(type.dtype, type.dims);
  for (int64_t i = 0; i < tensor.size(); ++i) set_element(tensor, i, value);
  return Array(tensor, place);
}

Array detach(const Array& array) {
  const Switched without(without_gradients());
  return apply("identity", {array});
}

}  // namespace halfstep::capture
