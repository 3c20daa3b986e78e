#include "halfstep/formats/c/c_program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/compile/evaluate_operation.h"
#include "halfstep/formats/c/errors.h"
#include "halfstep/formats/c/memory.h"
#include "halfstep/formats/c/operators.h"
#include "halfstep/formats/c/orders.h"
#include "halfstep/formats/c/source_text.h"
#include "halfstep/passes/graph/close_extents.h"
#include "halfstep/passes/graph/dce.h"
#include "halfstep/passes/graph/settle_extents.h"
#include "halfstep/passes/optimize/code_tables.h"
#include "halfstep/passes/optimize/coded_regions.h"
#include "halfstep/passes/optimize/fold_constants.h"
#include "halfstep/quant/prepare/float_fallback.h"

namespace halfstep::formats::c {
namespace {

/// Whether only tables and the first states of loops depend on the operation.
bool leads_to_stored(Op op) {
  for (const Value result : op.results()) {
    for (const auto& [user, operand] : result.uses()) {
      if (user.is<ops::IntegerLookup>() && operand == 1) continue;
      if (user.info().flow == Flow::none) {
        if (!user.is<ops::Expand, ops::Quantize, ops::Dequantize>() || !leads_to_stored(user)) return false;
        continue;
      }
      const FlowParts parts(user);
      const auto first = static_cast<int>(parts.first), end = first + static_cast<int>(parts.states);
      if (operand < first || operand >= end) return false;
    }
  }
  return true;
}

/// Returns the program for its number of samples per call: 1 if it accepts any number.
Model for_one_call(const Model& integer, const std::map<std::string, Dims>& given) {
  std::map<std::string, Dims> extents;
  for (const Value argument : integer.graph.arguments()) {
    Dims dims = argument.dims();
    const auto found = given.find(argument.name());
    for (size_t axis = 1; found != given.end() && axis < std::min(dims.size(), found->second.size()); ++axis)
      dims[axis] = dims[axis] == kUnknown ? found->second[axis] : dims[axis];
    if (!dims.empty() && dims[0] == kUnknown) dims[0] = 1;
    if (std::ranges::count(dims, kUnknown) > 0)
      fail(errors::c_dynamic_dims(integer.graph.name(), argument.name(), to_string(argument.type())));
    extents.emplace(argument.name(), dims);
  }
  Model closed = specialize(integer, extents);
  passes::close_extents(closed);
  passes::settle_extents(closed);
  const std::vector<Op> ops = closed.graph.ops();
  if (std::ranges::all_of(ops, [](Op op) { return op.info().flow == Flow::none; })) return closed;
  passes::coded_regions(closed);
  passes::code_tables(closed);
  passes::fold_constants(closed, compiler::evaluate, leads_to_stored);
  passes::dce(closed);
  return closed;
}

void require_permission(const Model& model, const std::vector<quant::FloatFallback>& fallbacks, bool float_fallback) {
  if (fallbacks.empty() || float_fallback) return;
  fail(errors::c_float_fallback(model.graph.name(), quant::describe(fallbacks)));
}

void require_elements(const Graph& graph) {
  for (Op op : graph.all_ops()) {
    for (const Value result : op.results()) {
      if (result.type().is_static() && count_elements(result.dims()) == 0)
        fail(errors::no_c_form(
            op.where(), fmt::format("{} to {}, which has no elements,", op.info().name, to_string(result.type()))));
    }
  }
}

/// Whether a value is an output of the network with no other reader.
bool only_leaves(Value value) {
  const Op end = value.producer().node()->block->return_op();
  return std::ranges::all_of(value.uses(), [&](const auto& use) { return use.first == end; });
}
bool enters(Op op) {
  return op.is<ops::Quantize>() && !is_in_region(op) && !op.in(0).is_tensor() && !op.in(0).producer();
}
bool leaves(Op op) { return op.is<ops::Dequantize>() && !is_in_region(op) && only_leaves(op.out(0)); }

/// Whether an operation with regions computes and passes on nothing in float. Layers inside are listed on their own.
bool is_region_on_codes(Op op) {
  const std::vector<Value> results = op.results();
  return !op.regions().empty() && std::ranges::none_of(results, [](Value one) { return is_float(one.dtype()); });
}

class Emitter {
 public:
  Emitter(const Model& model, const COptions& options)
      : model_(model),
        options_(options),
        fallbacks_(model.metadata.float_operators),
        body_(model_, names_),
        ends_(model_, names_) {
    program_.name = options.name;
    for (const char* name : {"arena", "arena_bytes", "base", "hook", "user", "floats"}) names_.unique(name);
  }

  CProgram run() {
    require_known_extents(model_.graph);
    require_elements(model_.graph);
    add_ports();
    add_all(model_.graph.body());
    add_remedy(objections_, "remove it from the network, or use another export format");
    fail_on_any(std::move(objections_));
    for (size_t i = 0; i < program_.outputs.size(); ++i) give(program_.outputs[i], outputs_[i]);
    program_.arena_bytes = plan_arena(body_);
    const auto is_wide = [](const Buffer& buffer) { return size_of(buffer.dtype) == sizeof(int64_t); };
    if (std::ranges::any_of(body_.buffers, is_wide)) program_.arena_alignment = sizeof(int64_t);
    program_.weight_bytes = body_.weight_bytes;
    program_.constant_bytes = body_.constant_bytes;
    program_.uses_floats = body_.uses_floats;
    program_.uses_math = body_.uses_math;
    program_.counts_iterations = body_.counts_iterations;
    const SourceParts parts{program_, body_, ends_, end_texts_, options_.hooks, model_.graph.name()};
    std::string header = header_text(parts), source = source_text(parts);
    program_.files = {{options_.name + ".h", std::move(header)}, {options_.name + ".c", std::move(source)}};
    return std::move(program_);
  }

 private:
  void add_ports() {
    for (Op op : model_.graph.ops()) {
      if (enters(op)) add_input(ops::Quantize(op.node()));
    }
    for (const Value argument : model_.graph.arguments()) {
      const auto reads = [](const auto& use) { return !enters(use.first); };
      if (std::ranges::any_of(argument.uses(), reads)) add_real_input(argument);
    }
    const auto outputs = model_.graph.outputs();
    const auto& names = model_.graph.body().output_names();
    for (size_t i = 0; i < outputs.size(); ++i) add_output(outputs[i], names[i].empty() ? outputs[i].name() : names[i]);
  }

  CPort port_of(const std::string& name, Value codes) {
    const std::string hint = to_c_identifier(name);
    return {names_.unique(is_reserved(hint) ? "the_" + hint : hint), name, codes.name(), codes.type(),
            body_.is_image(codes)};
  }
  void read_as(CPort& port, Value scale, Value zero_point) {
    port.scale = body_.contents(scale).data<float>()[0];
    port.zero_point = body_.contents(zero_point).data<int32_t>()[0];
    port.is_codes = true;
  }

  void add_input(const ops::Quantize& op) {
    CPort port = port_of(op.x().name(), op.out());
    read_as(port, op.scale(), op.zero_point());
    body_.feed(op.out(), port.name);
    program_.inputs.push_back(port);
    end_texts_.push_back({"quantize", port, quantize_call(ends_, op, "floats", port.name, true)});
  }
  /// Adds an argument that operators in float read.
  void add_real_input(Value argument) {
    const CPort port = port_of(argument.name(), argument);
    body_.feed(argument, port.name);
    program_.inputs.push_back(port);
  }

  /// Outputs the codes before a dequantization, if the output is one.
  void add_output(Value output, const std::string& name) {
    const auto end = output.producer<ops::Dequantize>();
    const bool in_codes = end && leaves(*end);
    outputs_.push_back(in_codes ? end->x() : output);
    CPort port = port_of(name, outputs_.back());
    if (in_codes) {
      read_as(port, end->scale(), end->zero_point());
      end_texts_.push_back({"dequantize", port, dequantize_call(ends_, *end, port.name, "floats", true)});
    }
    program_.outputs.push_back(port);
  }

  void add_all(const Block& block) {
    for (Op op : block.ops()) {
      if (!collect(objections_, op.name(), op.where(), [&] { add(op); })) stand_in(op);
    }
  }

  void add(Op op) {
    if (leaves(op)) return;
    if (fallbacks_.contains(op.name()) && !is_region_on_codes(op)) program_.fallbacks.push_back(op.name());
    const bool has_regions = op.info().flow != Flow::none;
    if (has_regions) {
      add_flow(body_, op, upper(options_.name), [this](const Block& region) { add_all(region); });
    } else if (!enters(op)) {
      add_operator(body_, op);
    }
    std::vector<Value> results = op.results();
    std::erase_if(results, [](Value result) { return !result.type().is_static(); });  // nothing reads it
    if (has_regions && fallbacks_.contains(op.name()))  // the integer Model has float values of this name
      std::erase_if(results, [](Value result) { return !is_float(result.dtype()); });
    body_.finish(has_regions ? "" : description(op), options_.hooks ? results : std::vector<Value>());
    for (const Value result : results)
      program_.layers.push_back({result.name(), result.type(), body_.is_image(result), is_in_region(op)});
  }

  std::string description(Op op) const {
    const Value result = op.out(0);
    return fmt::format("{}: {} {}", op.name(), op.info().name, to_string(Type{result.dtype(), body_.stored(result)}));
  }

  /// Continues after a rejected operator, so that all later rejected operators are found too.
  void stand_in(Op op) {
    for (const Value result : op.results()) body_.feed(result, result.name());
  }

  /// Uses the caller's memory for the value, unless another output uses it.
  void give(const CPort& port, Value value) {
    Buffer& buffer = body_.buffer(value);
    if (buffer.storage == Storage::arena) {
      buffer.storage = Storage::output;
      buffer.parameter = port.name;
      return;
    }
    body_.say(fmt::format("memcpy({}, {}, {});", port.name, body_.read(value), buffer.bytes()));
    body_.finish(port.value + ": the same");
  }

  const Model model_;
  const COptions& options_;
  FloatOperators fallbacks_;
  Identifiers names_;
  Body body_, ends_;
  CProgram program_;
  std::vector<Value> outputs_;  ///< output values
  std::vector<EndText> end_texts_;
  std::vector<Diagnostic> objections_;
};

}  // namespace

CProgram c_program(const Model& integer, const COptions& options) {
  if (!is_c_identifier(options.name)) fail(errors::c_name(options.name));
  require_permission(integer, quant::float_fallback(integer), options.float_fallback);
  return Emitter(for_one_call(integer, options.extents), options).run();
}

Tensor to_memory(const Tensor& codes, bool is_image) {
  Tensor result(codes.dtype(), stored_dims(codes.dims(), is_image));
  const auto places = stored_places(codes.dims(), is_image);
  const size_t width = size_of(codes.dtype());
  for (size_t i = 0; i < places.size(); ++i)
    std::memcpy(result.raw() + static_cast<size_t>(places[i]) * width, codes.raw() + i * width, width);
  return result;
}

Tensor from_memory(const Tensor& codes, bool is_image) {
  if (!is_image) return codes;
  const Dims& d = codes.dims();
  Tensor result(codes.dtype(), {d[0], d[3], d[1], d[2]});
  const auto places = stored_places(result.dims(), true);
  const size_t width = size_of(codes.dtype());
  for (size_t i = 0; i < places.size(); ++i)
    std::memcpy(result.raw() + i * width, codes.raw() + static_cast<size_t>(places[i]) * width, width);
  return result;
}

}  // namespace halfstep::formats::c
