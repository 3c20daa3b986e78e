#include "halfstep/passes/quantized/coded_form.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/errors.h"

namespace halfstep::passes {
namespace {

const OpInfo& target_of(Op main) {
  return main.info().quant.lookup ? ops::QuantizedLookup::record()
                                  : require_operator(main.info().quant.quantized, main.where());
}

void carry(CodedForm& form, Op from) {
  for (const auto& [key, value] : from.attributes()) {
    if (form.target->attribute(key) == nullptr)
      fail(errors::code_form_lacks_member(from.where(), form.target->name, fmt::format("attribute '{}'", key),
                                          from.info().name));
    form.attributes[key] = value;
  }
}

/// Replaces a dynamic leading extent, which counts samples, by a fixed number. The form must hold for any number of
/// samples.
Dims with_samples(Dims dims) {
  constexpr int64_t kSamples = 1009;
  if (!dims.empty() && dims[0] == kUnknown) dims[0] = kSamples;
  return dims;
}

/// Returns placeholders for the operands of `main` and for scales, before any codes are known.
std::map<std::string, Value> stand_ins(Graph& scratch, const OpInfo& target, Op main) {
  const QuantInfo& quant = main.info().quant;
  std::map<std::string, Value> by_port;
  for (const PortInfo& port : target.inputs) {
    const DType type = port.name.ends_with("zero_point") ? DType::i32 : DType::f32;
    if (main.info().input(port.name) < 0) by_port[port.name] = scratch.add_argument(port.name, {type, {1}});
  }
  for (const PortInfo& port : main.info().inputs) {
    const int from = main.info().input(port.name);
    const DType type = is_number_port(quant, from) ? DType::f32 : from == quant.weight ? DType::i8 : DType::u8;
    if (main.in(from)) by_port[port.name] = scratch.add_argument(port.name, {type, with_samples(main.in(from).dims())});
  }
  return by_port;
}

Op insert_or_refuse(Graph& scratch, OpSpec spec, const std::string& where) {
  try {
    return scratch.insert(std::move(spec));
  } catch (const Error& refusal) {
    if (refusal.kind() != ErrorKind::bad_input) throw;
    const Diagnostic why = placed(refusal.diagnostics().front(), "", where);
    fail(errors::code_form_refused(why.where, why.reason()));
  }
}

}  // namespace

std::optional<std::vector<int64_t>> global_window(Op main) {
  if (!main.is<ops::GlobalAvgPool>()) return std::nullopt;
  const Dims& dims = main.in(0).dims();
  return std::vector<int64_t>{dims[2], dims[3]};
}

CodedForm coded_form(Op main, Op activation) {
  CodedForm form{&target_of(main), {}};
  carry(form, main);
  if (activation) carry(form, activation);
  if (form.target->attribute("activation") != nullptr)
    form.attributes["activation"] = activation ? activation.info().quant.activation : std::string("none");
  if (form.target->attribute("subtract") != nullptr) form.attributes["subtract"] = main.is<ops::Sub>();
  if (main.info().quant.lookup) form.attributes["function"] = main.info().name;
  if (const auto window = global_window(main)) form.attributes["kernel"] = form.attributes["stride"] = *window;
  return form;
}

std::vector<Value> arrange_operands(const OpInfo& target, const std::map<std::string, Value>& by_port,
                                    const std::string& where) {
  std::vector<Value> operands(target.inputs.size());
  for (const auto& [port, value] : by_port) {
    const int at = target.input(port);
    if (value && at < 0)
      fail(errors::code_form_lacks_member(where, target.name, fmt::format("input '{}'", port), "layer"));
    if (value) operands[static_cast<size_t>(at)] = value;
  }
  return operands;
}

void require_coded_form(Op main, Op activation) {
  const CodedForm form = coded_form(main, activation);
  Graph scratch;
  OpSpec spec{form.target, {}, form.attributes, main.name(), main.location()};
  spec.operands = arrange_operands(*form.target, stand_ins(scratch, *form.target, main), main.where());
  const Op form_on_codes = insert_or_refuse(scratch, std::move(spec), main.where());
  const Dims wanted = with_samples(main.out(0).dims()), found = form_on_codes.out(0).dims();
  const auto agrees = [](int64_t extent, int64_t made) { return extent == kUnknown || extent == made; };
  if (!std::ranges::equal(wanted, found, agrees))
    fail(errors::code_form_refused(
        main.where(), fmt::format("{} computes extents [{}], this {} [{}]", form.target->name, fmt::join(found, ", "),
                                  main.info().name, fmt::join(wanted, ", "))));
}

}  // namespace halfstep::passes
