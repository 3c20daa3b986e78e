// Imports a Paddle program whose parameters are all 0.
#pragma once

#include <map>
#include <string>

#include "halfstep/engine/eager/call.h"
#include "halfstep/formats/paddle/paddle_file.h"
#include "tests/fuzz/target.h"

namespace halfstep::fuzz {

/// Only small parameters. Programs with others are refused, because those are missing.
inline std::map<std::string, Tensor> zeros(const formats::paddle::Program& program) {
  constexpr int64_t kMost = 4096;
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, claim] : program.parameters) {
    const Type type{claim.dtype.value_or(DType::f32), claim.dims};
    if (claim.dtype && type.is_static() && count_elements(type.dims) <= kMost)
      tensors.emplace(name, Tensor(type.dtype, type.dims));
  }
  return tensors;
}

inline void import_program(formats::paddle::Program program) {
  formats::Binding binding;
  binding.evaluate = [](const OpInfo& info, const Attributes& attributes, const std::vector<Tensor>& operands) {
    return eager::call(info, attributes, operands);
  };
  const auto parameters = zeros(program);
  const auto file = formats::paddle::PaddleFile::of(std::move(program), parameters, "fuzz");
  file->summary();
  file->coverage(binding);
  file->import(binding);
}

}  // namespace halfstep::fuzz
