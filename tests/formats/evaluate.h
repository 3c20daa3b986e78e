// Imports with the program's own evaluation of constants.
#pragma once

#include "halfstep/engine/eager/call.h"
#include "tests/formats/build.h"

namespace halfstep::formats::onnx::test {

inline Binding bound(std::map<std::string, Tensor> values = {}) {
  Binding binding;
  binding.values = std::move(values);
  binding.evaluate = [](const OpInfo& info, const Attributes& attributes, const std::vector<Tensor>& operands) {
    return eager::call(info, attributes, operands);
  };
  return binding;
}

inline Model import_text(const ModelText& text, const Binding& binding = bound()) {
  const std::string bytes = text.text();
  return parse(bytes_of(bytes), "m.onnx")->import(binding);
}

/// The graph's operators, "conv2d relu".
inline std::string operators(const Model& model) {
  std::string text;
  for (const Op op : model.graph.ops()) text += (text.empty() ? "" : " ") + op.info().name;
  return text;
}

}  // namespace halfstep::formats::onnx::test
