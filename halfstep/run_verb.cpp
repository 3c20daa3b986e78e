#include <algorithm>
#include <cmath>

#include "halfstep/base/nearest.h"
#include "halfstep/compile/compile.h"
#include "halfstep/data.h"
#include "halfstep/halfstep.h"
#include "halfstep/io/npz.h"
#include "halfstep/io/safetensors.h"
#include "halfstep/train/executable.h"
#include "halfstep/verify/elements.h"
#include "halfstep/verify/roads.h"

namespace halfstep {
namespace {

using Tensors = std::map<std::string, Tensor>;

Tensors read_tensors(const std::filesystem::path& path) {
  return path.extension() == ".npz" ? io::read_npz(path) : io::read_safetensors(path).tensors;
}

void write_tensors(const std::filesystem::path& path, const Tensors& tensors) {
  if (path.extension() == ".npz") return io::write_npz(path, tensors);
  io::write_safetensors(path, {tensors, {}});
}

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

bool close(double found, double expected, const RunRequest& request) {
  if (std::isnan(found) || std::isnan(expected)) return std::isnan(found) && std::isnan(expected);
  if (found == expected) return true;
  return std::fabs(found - expected) <= request.absolute + request.relative * std::fabs(expected);
}

RunComparison compare(const std::string& name, const Tensor& found, const Tensor& expected, const RunRequest& request) {
  if (found.type() != expected.type())
    fail("{}: tensor '{}' is {}, expected {}", request.expect.string(), name, to_string(found.type()),
         to_string(expected.type()));
  RunComparison result{name, found.size(), 0, 0, {}, 0, 0};
  if (request.exact && found.same_bits(expected)) return result;
  const auto width = static_cast<int64_t>(size_of(found.dtype()));
  for (int64_t i = 0; i < found.size(); ++i) {
    const double a = verify::element(found, i);
    const double b = verify::element(expected, i);
    const bool same = request.exact ? std::memcmp(found.raw() + i * width, expected.raw() + i * width,
                                                  static_cast<size_t>(width)) == 0
                                    : close(a, b, request);
    if (!std::isnan(a) && !std::isnan(b))
      result.largest_difference = std::max(result.largest_difference, std::fabs(a - b));
    if (same || result.differing++ > 0) continue;
    result.first_position = verify::position_of(i, found.dims());
    result.first_found = a;
    result.first_expected = b;
  }
  return result;
}

}  // namespace

bool RunReport::equal() const {
  return std::all_of(comparisons.begin(), comparisons.end(), [](const RunComparison& c) { return c.differing == 0; });
}

RunReport run_model(const RunRequest& request, const Settings& settings) {
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
  report.outputs = program.run(inputs, pool);
  for (const auto& [name, tensor] : expected) {
    const auto found = report.outputs.find(name);
    if (found == report.outputs.end())
      fail("{}: tensor '{}' is no output of network '{}'", request.expect.string(), name, model.graph.name());
    report.comparisons.push_back(compare(name, found->second, tensor, request));
  }
  if (!request.outputs.empty()) write_tensors(request.outputs, report.outputs);
  return report;
}

}  // namespace halfstep
