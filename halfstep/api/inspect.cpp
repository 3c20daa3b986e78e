#include "halfstep/api/inspect.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "halfstep/api/detail/known_extents.h"
#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/core/base/limits.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/engine/eager/call.h"
#include "halfstep/passes/graph/separate_names.h"
#include "halfstep/train/evaluate/executable.h"

namespace halfstep::api {
namespace {

/// Measures the time between successive calls.
class StageClock {
 public:
  explicit StageClock(std::map<std::string, double>& seconds) : seconds_(seconds) {}
  void end_of(const std::string& step) {
    const auto now = std::chrono::steady_clock::now();
    seconds_[step] = std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::map<std::string, double>& seconds_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

formats::Binding binding_of(const std::map<std::string, Dims>& dims) {
  formats::Binding binding;
  binding.dims = dims;
  binding.evaluate = eager::call;
  return binding;
}

std::map<std::string, Dims> closed_extents(const formats::Summary& summary, int64_t batch, int64_t extent) {
  std::map<std::string, Dims> all;
  for (const formats::Port& port : summary.inputs) {
    if (!port.has_default && std::ranges::count(port.dims, kUnknown) > 0)
      all[port.name] = assumed(port.dims, batch, extent);
  }
  return all;
}

/// Reports problems that appear only when the whole graph is built like all other issues.
void build(const formats::File& file, const formats::Binding& binding, const Place& place, StageClock& clock,
           ForeignInspection& found) {
  CompileOptions options;
  options.place = place;
  try {
    found.model = file.import(binding);
    clock.end_of("import");
    found.program = plan_program(train::evaluation_form(*found.model), options);
    clock.end_of("compile");
  } catch (const Error& error) {
    if (!found.model) found.coverage = file.coverage(binding);
    if (!found.coverage.issues.empty()) return;
    if (error.kind() != ErrorKind::unsupported) throw;
    const Diagnostic& reason = error.diagnostics().front();
    const std::string at = reason.where.empty() ? found.summary.format : reason.where;
    found.coverage.issues.push_back({"graph", reason, false, false, {at}});
  }
}

/// Returns the objections of `quantize` to a file that cannot be imported.
TargetInspection refused(const Target& target, const std::string& path, const formats::Coverage& coverage) {
  TargetInspection found{target.platform.name, {{"quantize", {}}, {"convert", {}}, {"train", {}}}, {}, {}};
  for (const formats::Issue& issue : coverage.issues) {
    for (const std::string& node : issue.nodes)
      found.verbs[0].objections.push_back(
          placed(errors::node_not_imported(path, node, issue.op, issue.what(), issue.remedy()), node, ""));
  }
  return found;
}

/// Reads the file as the verbs do: with dynamic dimensions, or else as `closed`.
Model network_of(const formats::File& file, const std::optional<Model>& closed) {
  std::optional<Model> network = closed;
  try {
    network = file.import(binding_of({}));
  } catch (const Error& error) {
    if (!network || error.kind() != ErrorKind::unsupported) throw;
  }
  passes::separate_names(*network);
  return *std::move(network);
}

/// Handles a network that imports with dynamic dimensions but not with the assumed extents: tries further assumed
/// extents. If none is accepted, this problem replaces the issues of the first extents. Returns false if the file has
/// other issues.
bool build_with_others(const formats::File& file, const InspectOptions& options, StageClock& clock,
                       ForeignInspection& found) {
  if (!file.coverage(binding_of({})).issues.empty()) return false;
  for (const int64_t extent : std::span(kAssumedExtents).subspan(1)) {
    ForeignInspection next;
    next.summary = found.summary;
    next.nodes = found.nodes;
    next.dims = closed_extents(found.summary, options.batch, extent);
    build(file, binding_of(next.dims), options.device, clock, next);
    if (!next.model) continue;
    next.seconds = found.seconds;
    found = std::move(next);
    return true;
  }
  found.coverage = {
      {{.op = "graph", .reason = takes_none_of_them(), .needs_values = true, .nodes = {found.summary.format}}}};
  return true;
}

}  // namespace

Inspection inspect(const Model& network, const InspectOptions& options) {
  require_in_range(options);
  CompileOptions compile_options;
  compile_options.place = options.device;
  const Model form = train::evaluation_form(network);
  Model fixed = with_known_extents(form, options.batch);
  runtime::ProgramSpec program = plan_program(fixed, compile_options);
  Inspection found{stage_of(network), network, std::move(fixed), std::move(program)};
  if (options.target) found.target = inspect_target(network, *options.target);
  return found;
}

ForeignInspection inspect_file(const std::filesystem::path& path, const InspectOptions& options) {
  require_in_range(options);
  ForeignInspection found;
  StageClock clock(found.seconds);
  const auto file = formats::open(path);
  clock.end_of("open");
  found.summary = file->summary();
  if (options.nodes) found.nodes = formats::node_list(*file);
  found.dims = closed_extents(found.summary, options.batch, kAssumedExtents[0]);
  build(*file, binding_of(found.dims), options.device, clock, found);
  const bool is_network = found.model || (!found.dims.empty() && build_with_others(*file, options, clock, found));
  if (options.target && is_network)
    found.target = inspect_target(network_of(*file, found.model), *options.target);
  else if (options.target)
    found.target = refused(*options.target, path.string(), found.coverage);
  return found;
}

}  // namespace halfstep::api
