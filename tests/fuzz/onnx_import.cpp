#include "halfstep/eager/call.h"
#include "halfstep/formats/onnx/import.h"
#include "tests/fuzz/target.h"

HS_FUZZ_TARGET(bytes) {
  using namespace halfstep;
  const auto file = formats::onnx::parse(bytes, "fuzz");
  formats::onnx::Binding binding;
  binding.evaluate = [](const OpInfo& info, const Attributes& attributes, const std::vector<Tensor>& operands) {
    return eager::call(info, attributes, operands);
  };
  formats::onnx::summarize(*file);
  formats::onnx::coverage(*file, binding);
  formats::onnx::import(*file, binding);
}
