#include "halfstep/formats/onnx/onnx_messages.h"

#include "tests/fuzz/target.h"

HS_FUZZ_TARGET(bytes) {
  using namespace halfstep::formats::onnx;
  looks_like_model(bytes);
  short_form(bytes, WireRoot::tensor, "fuzz");
  short_form(bytes, WireRoot::model, "fuzz");
}
