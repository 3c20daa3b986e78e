#include "halfstep/verify/equivalence/compared_programs.h"

#include <algorithm>

namespace halfstep::verify {

Model sized_for(const Model& model, const Tensors& inputs) {
  std::map<std::string, Dims> extents;
  for (const auto& [name, tensor] : inputs) extents.emplace(name, tensor.dims());
  Model sized = specialize(model, extents);
  std::vector<Value> outputs;
  for (const Value output : sized.graph.outputs()) {
    if (std::ranges::find(outputs, output) == outputs.end()) outputs.push_back(output);
  }
  sized.graph.set_outputs(outputs);
  return sized;
}

std::vector<Dims> extents_of(const Tensors& inputs) {
  std::vector<Dims> extents;
  for (const auto& [name, tensor] : inputs) extents.push_back(tensor.dims());
  return extents;
}

runtime::Program program_of(const Model& model, const Tensors& inputs, std::vector<std::string> fetch) {
  CompileOptions options;
  options.fetch = std::move(fetch);
  return compile(sized_for(model, inputs), options);
}

}  // namespace halfstep::verify
