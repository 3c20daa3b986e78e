#include "halfstep/api/run.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ranges>

#include "halfstep/api/detail/iterations.h"
#include "halfstep/api/errors.h"
#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/element_values.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/npy.h"
#include "halfstep/core/files/npz.h"
#include "halfstep/core/files/safetensors.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/engine/eager/call.h"
#include "halfstep/train/calibrate/calibrated_lengths.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/verify/operators/tensor_numbers.h"

namespace halfstep::api {
namespace {

/// Names an unnamed tensor, as from an npy file, after the only input.
Tensors with_names(const Tensors& tensors, const std::vector<std::string>& names) {
  Tensors named = tensors;
  const auto unnamed = named.find("");
  if (unnamed == named.end() || names.size() != 1) return named;
  auto entry = named.extract(unnamed);
  entry.key() = names.front();
  named.insert(std::move(entry));
  return named;
}

struct WantedInput {
  std::string name;
  bool is_f32;
  bool is_needed = true;  ///< false: the file has default contents
};

/// Adapts tensors to the network: adds names, and converts f64 to f32 where the network takes f32.
Tensors fitted(const Tensors& tensors, const std::vector<WantedInput>& wanted) {
  std::vector<std::string> names;
  for (const WantedInput& input : wanted) {
    if (input.is_needed) names.push_back(input.name);
  }
  Tensors inputs = with_names(tensors, names);
  for (const WantedInput& input : wanted) {
    const auto given = inputs.find(input.name);
    if (given != inputs.end() && input.is_f32) given->second = narrowed(given->second);
  }
  return inputs;
}

Tensors inputs_for(const Graph& graph, const Tensors& tensors) {
  std::vector<WantedInput> wanted;
  for (const Value argument : graph.arguments()) wanted.push_back({argument.name(), argument.dtype() == DType::f32});
  return fitted(tensors, wanted);
}

Tensors inputs_for(const formats::Summary& summary, const Tensors& tensors) {
  std::vector<WantedInput> wanted;
  for (const formats::Port& port : summary.inputs)
    wanted.push_back({port.name, port.type.starts_with("float32"), !port.has_default});
  return fitted(tensors, wanted);
}

std::string names_of(const Tensors& inputs) { return fmt::format("{}", fmt::join(std::views::keys(inputs), ", ")); }

/// Checks for inputs unknown to the file, and for missing inputs without a default.
void check_inputs(const formats::Summary& summary, const Tensors& inputs, const std::string& source) {
  std::vector<std::string> names;
  for (const formats::Port& port : summary.inputs) names.push_back(port.name);
  for (const auto& [name, tensor] : inputs) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail(errors::no_input_of_network(source, name, "the network", known_names(name, names)));
  }
  for (const formats::Port& port : summary.inputs) {
    if (!port.is_tensor) fail(errors::value_not_a_tensor(source, port.name, port.type));
    if (!port.has_default && !inputs.contains(port.name))
      fail(errors::input_missing(source, port.name, port.type, "the network", names_of(inputs)));
  }
}

TracedValue traced(const runtime::ProgramSpec& spec, const runtime::Operand& operand) {
  if (operand.slot < 0) return {operand.port, "", {DType::f32, {}}, {}, {}};
  const runtime::Slot& slot = spec.slots[static_cast<size_t>(operand.slot)];
  return {operand.port, slot.name, slot.type, slot.place, {}};
}

std::vector<TracedInstruction> instructions_of(const runtime::ProgramSpec& spec, const runtime::Trace& times,
                                               const runtime::Trace* ranges);

std::vector<TracedRegion> regions_of(const runtime::Instruction& instruction, size_t number,
                                     const runtime::Trace& times, const runtime::Trace* ranges) {
  std::vector<TracedRegion> regions;
  for (size_t i = 0; i < times.regions.size(); ++i) {
    const runtime::RegionRun& run = times.regions[i];
    if (run.instruction != number) continue;
    std::string name = find_operator(instruction.op)->regions[run.region];
    if (run.iteration >= 0) name += fmt::format(", iteration {}", run.iteration);
    const bool is_known = ranges != nullptr && i < ranges->regions.size();
    regions.push_back(
        {std::move(name), instructions_of(*run.program, run.trace, is_known ? &ranges->regions[i].trace : nullptr)});
  }
  return regions;
}

/// Combines times of one run with ranges of another, because measuring ranges takes time too.
std::vector<TracedInstruction> instructions_of(const runtime::ProgramSpec& spec, const runtime::Trace& times,
                                               const runtime::Trace* ranges) {
  std::vector<TracedInstruction> made;
  for (size_t i = 0; i < spec.instructions.size(); ++i) {
    const runtime::Instruction& from = spec.instructions[i];
    const runtime::Trace::Timing& timing = times.timings[i];
    TracedInstruction& to = made.emplace_back();
    to.name = from.name;
    to.op = from.op;
    to.kernel = from.flow != nullptr ? "regions" : from.kernel == nullptr ? "" : from.kernel->name;
    to.location = from.location;
    to.place = from.place;
    to.worker = timing.worker;
    to.begin = timing.begin;
    to.end = timing.end;
    for (const auto& operand : from.in) to.in.push_back(traced(spec, operand));
    for (size_t port = 0; port < from.out.size(); ++port) {
      to.out.push_back(traced(spec, from.out[port]));
      if (ranges != nullptr && i < ranges->results.size() && port < ranges->results[i].size())
        to.out.back().range = ranges->results[i][port];
    }
    if (from.flow != nullptr) to.regions = regions_of(from, i, times, ranges);
  }
  return made;
}

/// Runs the Program once for its results, and again to measure its speed.
RunResult run_timed(runtime::Program program, const Tensors& inputs, const RunOptions& options,
                    const Settings& settings) {
  ThreadPool pool(settings.threads);
  runtime::Trace ranges, times;
  ranges.ranges = true;
  RunResult result{program.run(inputs, pool, options.trace ? &ranges : nullptr), {}};
  for (int64_t i = 0; i < options.repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    program.run_into(inputs, result.outputs, pool, options.trace && i + 1 == options.repeat ? &times : nullptr);
    result.milliseconds.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  if (options.trace) {
    const runtime::Trace& shown = options.repeat > 0 ? times : ranges;
    result.trace = {program.spec().name, instructions_of(program.spec(), shown, &ranges), shown.room->left_out};
  }
  return result;
}

CompileOptions compile_options(const RunOptions& options, const ProgressCallback& progress) {
  CompileOptions result;
  result.place = options.device;
  result.watch_iterations = iteration_watch("run", options.max_iterations, progress);
  return result;
}

bool close(double found, double expected, const Tolerance& tolerance) {
  if (std::isnan(found) || std::isnan(expected)) return std::isnan(found) && std::isnan(expected);
  if (found == expected) return true;
  return std::fabs(found - expected) <= tolerance.absolute + tolerance.relative * std::fabs(expected);
}

bool has_tolerance(DType dtype) { return is_float(dtype) || is_small_float(dtype); }

/// Whether element type and known extents of the tensor match the argument.
bool fits(const Value& argument, const Tensor& tensor) {
  const auto same = [](int64_t wanted, int64_t extent) { return wanted == kUnknown || wanted == extent; };
  return argument.dtype() == tensor.dtype() && std::ranges::equal(argument.dims(), tensor.dims(), same);
}

}  // namespace

std::map<std::string, Dims> extents_of(const Graph& graph, const Tensors& inputs, const std::string& source) {
  std::vector<std::string> names;
  for (const Value argument : graph.arguments()) names.push_back(argument.name());
  std::map<std::string, Dims> dims;
  for (const auto& [name, tensor] : inputs) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail(errors::no_input_of_network(source, name, fmt::format("network '{}'", graph.name()),
                                       known_names(name, names)));
    dims[name] = tensor.dims();
  }
  for (const Value argument : graph.arguments()) {
    const auto found = inputs.find(argument.name());
    if (found == inputs.end())
      fail(errors::input_missing(source, argument.name(), to_string(argument.type()),
                                 fmt::format("network '{}'", graph.name()), names_of(inputs)));
    if (!fits(argument, found->second))
      fail(errors::input_of_other_type(source, argument.name(), graph.name(), to_string(found->second.type()),
                                       to_string(argument.type())));
  }
  return dims;
}

RunResult run(const Model& network, const Tensors& given, const RunOptions& options, const Settings& settings) {
  const Model form = train::evaluation_form(network);
  const Tensors inputs = inputs_for(form.graph, given);
  const auto extents = extents_of(form.graph, inputs, options.source);
  RunResult result = run_timed(compile(specialize(form, extents), compile_options(options, settings.progress)), inputs,
                               options, settings);
  if (auto note = train::beyond_calibrated(network, extents)) result.notes.push_back(std::move(*note));
  return result;
}

RunResult run(const formats::File& file, const Tensors& given, const RunOptions& options, const Settings& settings) {
  const Tensors inputs = inputs_for(file.summary(), given);
  check_inputs(file.summary(), inputs, options.source);
  formats::Binding binding;
  binding.values = inputs;
  binding.evaluate = eager::call;
  Model model = formats::import_whole(file, binding);
  Tensors fed;
  for (const Value argument : model.graph.arguments()) fed.emplace(argument.name(), inputs.at(argument.name()));
  return run_timed(compile(std::move(model), compile_options(options, settings.progress)), fed, options, settings);
}

TensorComparison compare(const std::string& name, const Tensor& found, const Tensor& expected, const Tolerance& asked) {
  if (found.type() != expected.type()) {
    const std::string what =
        fmt::format("{}: {}, expected {}", name, to_string(found.type()), to_string(expected.type()));
    return {what, expected.size(), std::max<int64_t>(expected.size(), 1), 0, {}, 0, 0};
  }
  const Tolerance tolerance = has_tolerance(found.dtype()) ? asked : Tolerance{0, 0, true};
  TensorComparison result{name, found.size(), 0, 0, {}, 0, 0};
  if (tolerance.exact && found.same_bits(expected)) return result;
  const auto width = static_cast<int64_t>(size_of(found.dtype()));
  for (int64_t i = 0; i < found.size(); ++i) {
    const double a = element(found, i);
    const double b = element(expected, i);
    const bool same = tolerance.exact ? std::memcmp(found.raw() + i * width, expected.raw() + i * width,
                                                    static_cast<size_t>(width)) == 0
                                      : close(a, b, tolerance);
    if (!std::isnan(a) && !std::isnan(b))
      result.largest_difference = std::max(result.largest_difference, std::fabs(a - b));
    if (same || result.differing++ > 0) continue;
    result.first_position = verify::position_of(i, found.dims());
    result.first_found = a;
    result.first_expected = b;
  }
  return result;
}

std::vector<TensorComparison> compare(const Tensors& found, const Tensors& expected, const Tolerance& tolerance) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : found) names.push_back(name);
  std::vector<TensorComparison> comparisons;
  for (const auto& [name, tensor] : with_names(expected, names)) {
    const auto at = found.find(name);
    if (at == found.end()) fail(errors::no_output_of_network(name, known_names(name, names)));
    comparisons.push_back(compare(name, at->second, tensor, tolerance));
  }
  return comparisons;
}

Tensors read_tensors(const std::filesystem::path& path) {
  if (path.extension() == ".npz") return io::read_npz(path);
  if (path.extension() == ".npy") return {{"", io::parse_npy(io::read_file(path), path.string())}};
  return io::read_safetensors(path).tensors;
}

void require_tensor_file(const std::filesystem::path& path) {
  if (!path.empty() && path.extension() != ".npz" && path.extension() != ".safetensors")
    fail(errors::wrong_extension(path.string(), path.extension().string(), ".safetensors or .npz"));
}

void write_tensors(const std::filesystem::path& path, const Tensors& tensors) {
  require_tensor_file(path);
  if (path.extension() == ".npz") return io::write_npz(path, tensors);
  io::write_safetensors(path, {tensors, {}});
}

}  // namespace halfstep::api
