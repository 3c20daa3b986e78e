#include "halfstep/engine/eager/call.h"
#include "halfstep/formats/onnx/onnx_file.h"
#include "tests/fuzz/target.h"

HS_FUZZ_TARGET(bytes) {
  using namespace halfstep;
  const auto file = formats::onnx::parse(bytes, "fuzz");
  formats::Binding binding;
  binding.evaluate = [](const OpInfo& info, const Attributes& attributes, const std::vector<Tensor>& operands) {
    return eager::call(info, attributes, operands);
  };
  file->summary();
  file->coverage(binding);
  file->import(binding);
}
