#include <algorithm>

#include "halfstep/base/nearest.h"
#include "halfstep/comparison.h"
#include "halfstep/compile/compile.h"
#include "halfstep/data.h"
#include "halfstep/foreign_verb.h"
#include "halfstep/formats/import.h"
#include "halfstep/halfstep.h"
#include "halfstep/io/atomic_file.h"
#include "halfstep/timed_run.h"
#include "halfstep/train/executable.h"

namespace halfstep {
namespace {

/// The inputs' extents for the arguments; throws for a missing or unknown name.
std::map<std::string, Dims> extents_of(const Graph& graph, const Tensors& inputs, const std::string& file) {
  std::vector<std::string> names;
  for (const Value argument : graph.arguments()) names.push_back(argument.name());
  std::map<std::string, Dims> dims;
  for (const auto& [name, tensor] : inputs) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail("{}: tensor '{}' is no input of network '{}'{}", file, name, graph.name(), did_you_mean(name, names));
    dims[name] = tensor.dims();
  }
  for (const std::string& name : names) {
    if (!dims.contains(name)) fail("{}: input '{}' of network '{}' is missing", file, name, graph.name());
  }
  return dims;
}

}  // namespace

bool RunReport::equal() const {
  return std::all_of(comparisons.begin(), comparisons.end(), [](const RunComparison& c) { return c.differing == 0; });
}

RunReport run_model(const RunRequest& request, const Settings& settings) {
  if (!request.outputs.empty()) io::require_file_target(request.outputs);
  if (formats::is_foreign(request.model)) return run_foreign(request, settings);
  if (!request.test_data.empty()) fail("{}: test data go with a foreign file", request.model.string());
  if (request.inputs.empty()) fail("{}: found no inputs for it: --inputs FILE", request.model.string());
  CompileOptions options;
  options.place = place_of(request.place);
  const Model model = load_model(request.model);
  const Tensors inputs = read_tensors(request.inputs);
  const Tensors expected = request.expect.empty() ? Tensors() : read_tensors(request.expect);
  const Model form = train::evaluation_form(model);
  runtime::Program program =
      compile(specialize(form, extents_of(form.graph, inputs, request.inputs.string())), options);
  ThreadPool pool(settings.threads);
  RunReport report;
  run_timed(program, inputs, request.repeat, pool, report);
  for (const auto& [name, tensor] : expected) {
    const auto found = report.outputs.find(name);
    if (found == report.outputs.end())
      fail("{}: tensor '{}' is no output of network '{}'", request.expect.string(), name, model.graph.name());
    if (found->second.type() != tensor.type())
      fail("{}: tensor '{}' is {}, expected {}", request.expect.string(), name, to_string(found->second.type()),
           to_string(tensor.type()));
    report.comparisons.push_back(
        compare(name, found->second, tensor, {request.relative, request.absolute, request.exact}));
  }
  if (!request.outputs.empty()) write_tensors(request.outputs, report.outputs);
  return report;
}

}  // namespace halfstep
