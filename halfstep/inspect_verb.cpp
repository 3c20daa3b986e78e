#include <filesystem>
#include <fstream>

#include "halfstep/compile/compile.h"
#include "halfstep/compile/describe.h"
#include "halfstep/data.h"
#include "halfstep/halfstep.h"
#include "halfstep/ir/parse.h"
#include "halfstep/ir/print.h"
#include "halfstep/train/executable.h"
#include "halfstep/train/network.h"

namespace halfstep {
namespace {

Model open_model(const std::filesystem::path& path) {
  if (path.extension() != ".ir") return load_model(path);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("{}: cannot be read", path.string());
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  return train::initialize(parse(text, path.filename().string()), 0);
}

/// Unknown leading extents become `batch`; any other unknown extent stays for specialize to name.
std::map<std::string, Dims> with_batch(const Graph& graph, int64_t batch) {
  std::map<std::string, Dims> dims;
  for (const Value argument : graph.arguments()) {
    Dims known = argument.dims();
    if (!known.empty() && known[0] == kUnknown) known[0] = batch;
    dims[argument.name()] = known;
  }
  return dims;
}

}  // namespace

std::string inspect_model(const InspectRequest& request) {
  CompileOptions options;
  options.place = place_of(request.place);
  const Model model = open_model(request.model);
  const Model form = train::evaluation_form(model);
  const std::string text = fmt::format("{} network '{}'\n\n{}\n", stage_of(model), model.graph.name(), print(model.graph));
  const Model fixed = specialize(form, with_batch(form.graph, request.batch));
  return text + describe(fixed.graph, compile(fixed, options), request.explain);
}

}  // namespace halfstep
