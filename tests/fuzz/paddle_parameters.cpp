#include "halfstep/formats/paddle/parameter_file.h"

#include "tests/fuzz/target.h"

HS_FUZZ_TARGET(bytes) {
  using namespace halfstep;
  using formats::paddle::Claim;
  const std::map<std::string, Claim> claims = {{"a", {DType::f32, "float32", {8}}},
                                               {"b", {DType::f32, "float32", {8, kUnknown}}}};
  formats::paddle::read_parameters(nullptr, bytes, claims, "fuzz");
}
