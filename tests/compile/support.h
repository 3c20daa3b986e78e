// Models from text, and contents for their tensors.
#pragma once

#include <cmath>
#include <map>
#include <string>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/engine/compile/compile.h"
#include "tests/support/error.h"

namespace halfstep::testing_compile {

inline constexpr Place kCpu{DeviceKind::cpu, 0};
inline constexpr Place kSim{DeviceKind::sim, 0};

/// Uniform in [-2, 2), or small integers for integer types.
inline Tensor random_tensor(const Type& type, uint64_t seed) {
  Tensor tensor(type.dtype, type.dims);
  Random random(seed, 7);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const float value = 4 * random.uniform() - 2;
    if (type.dtype == DType::f32) tensor.data<float>()[static_cast<size_t>(i)] = value;
    if (type.dtype == DType::f64) tensor.data<double>()[static_cast<size_t>(i)] = static_cast<double>(value);
    if (type.dtype == DType::i32)
      tensor.data<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(std::floor(value));
  }
  return tensor;
}

/// The graph with random tensors.
inline Model model_of(const std::string& text) {
  Model model{parse(text, "test.ir"), {}, {}, {}};
  uint64_t seed = 100;
  for (const Value tensor : model.graph.tensors())
    model.tensors.emplace(tensor.name(), random_tensor(tensor.type(), ++seed));
  return model;
}

inline std::map<std::string, Tensor> inputs_of(const Model& model, uint64_t seed = 1) {
  std::map<std::string, Tensor> inputs;
  for (const Value argument : model.graph.arguments())
    inputs.emplace(argument.name(), random_tensor(argument.type(), ++seed));
  return inputs;
}

/// "transfer x:sim, add y": operator and name of each instruction.
inline std::string listing(const runtime::Program& program) {
  std::string text;
  for (const runtime::Instruction& instruction : program.instructions())
    text += (text.empty() ? "" : ", ") + instruction.op + " " + instruction.name;
  return text;
}

using test::diagnostic_of;
using test::error_of;
using test::name_of;

}  // namespace halfstep::testing_compile
