#include "tests/passes/reference_run.h"

#include <algorithm>

#include "halfstep/core/base/random.h"
#include "halfstep/engine/compile/evaluate_operation.h"

namespace halfstep::passes {
namespace {

template <class T>
void fill_integers(Tensor& tensor, Random& random) {
  constexpr uint64_t kBound = 8;
  for (T& element : tensor.data<T>()) element = static_cast<T>(random.below(kBound));
}

void fill_floats(Tensor& tensor, Random& random, float low, float high) {
  for (float& element : tensor.data<float>()) element = low + (high - low) * random.uniform();
}

/// FNV-1a of the name.
uint64_t stream_of(const std::string& name) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

const Tensor& value_in(const std::map<std::string, Tensor>& values, const Model& model, Value value) {
  return value.is_tensor() ? model.tensors.at(value.name()) : values.at(value.name());
}

}  // namespace

Tensor sample(const std::string& name, const Type& type) {
  Tensor tensor(type.dtype, type.dims);
  Random random(1, stream_of(name));
  const bool positive = name.ends_with("variance") || name.ends_with("scale");
  switch (type.dtype) {
    case DType::f32: fill_floats(tensor, random, positive ? 0.5f : -1.0f, positive ? 1.5f : 1.0f); break;
    case DType::boolean: std::ranges::fill(tensor.data<bool>(), true); break;
    case DType::i4:
    case DType::i8: fill_integers<int8_t>(tensor, random); break;
    case DType::u8: fill_integers<uint8_t>(tensor, random); break;
    case DType::u16: fill_integers<uint16_t>(tensor, random); break;
    case DType::i32: fill_integers<int32_t>(tensor, random); break;
    default:
      fail(errors::record_wrong(fmt::format(
          "sample '{}': found {}, expected f32, a condition or an integer that networks have", name, to_string(type))));
  }
  return tensor;
}

Model sample_model(Graph graph) {
  Model model{std::move(graph), {}, {}, {}};
  for (const Value tensor : model.graph.tensors()) model.tensors[tensor.name()] = sample(tensor.name(), tensor.type());
  return model;
}

std::map<std::string, Tensor> run_reference(const Model& model, const std::map<std::string, Tensor>& arguments) {
  std::map<std::string, Tensor> values = arguments;
  for (const Op op : model.graph.ops()) {
    std::vector<Tensor> operands;
    for (const Value operand : op.operands()) operands.push_back(operand ? value_in(values, model, operand) : Tensor());
    const std::vector<Tensor> contents = compiler::evaluate(op, operands);
    const std::vector<Value> results = op.results();
    for (size_t i = 0; i < results.size(); ++i) values[results[i].name()] = contents.at(i);
  }
  return values;
}

std::map<std::string, Tensor> outputs_for_samples(const Model& model) {
  std::map<std::string, Tensor> arguments;
  for (const Value argument : model.graph.arguments())
    arguments[argument.name()] = sample(argument.name(), argument.type());
  const std::map<std::string, Tensor> values = run_reference(model, arguments);
  std::map<std::string, Tensor> outputs;
  const std::vector<Value> returned = model.graph.outputs();
  for (size_t i = 0; i < returned.size(); ++i)
    outputs[model.graph.body().output_names()[i]] = value_in(values, model, returned[i]);
  return outputs;
}

}  // namespace halfstep::passes
