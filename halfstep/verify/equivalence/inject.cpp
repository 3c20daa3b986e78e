#include <fmt/format.h>

#include <charconv>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/status.h"
#include "halfstep/verify/equivalence/errors.h"
#include "halfstep/verify/equivalence/execution_paths.h"

namespace halfstep::verify {
namespace {

Value weight_of(const Model& integer, const std::string& layer) {
  std::vector<std::string> names;
  for (Op op : integer.graph.all_ops()) {
    const int port = op.info().input("w");
    if (port < 0 || !op.in(port).is_tensor() || is_float(op.in(port).dtype())) continue;
    if (op.name() == layer) return op.in(port);
    names.push_back(op.name());
  }
  fail(errors::injected_layer_unknown(layer, did_you_mean(layer, names)));
}

}  // namespace

void inject(Model& integer, const std::string& place) {
  const size_t colon = place.rfind(':');
  int64_t index = -1;
  if (colon != std::string::npos) {
    const auto [end, error] = std::from_chars(place.data() + colon + 1, place.data() + place.size(), index);
    if (error != std::errc() || end != place.data() + place.size()) index = -1;
  }
  if (index < 0) fail(errors::injected_place_wrong(place, "", "LAYER:INDEX, as in conv1:17"));
  const Value weight = weight_of(integer, place.substr(0, colon));
  Tensor changed = integer.tensors.at(weight.name()).clone();
  if (index >= changed.size())
    fail(errors::injected_place_wrong(place, fmt::format("index {}", index),
                                      fmt::format("0 to {}", changed.size() - 1)));
  int8_t& code = changed.data<int8_t>()[static_cast<size_t>(index)];
  // i4 codes are -8..7, stored sign-extended in a byte. A flip of bit 3 must also flip the copies of the sign above it.
  const int flipped = changed.dtype() == DType::i4 ? code ^ 0xF8 : code ^ 0x80;
  code = static_cast<int8_t>(flipped);
  integer.tensors[weight.name()] = changed;
}

}  // namespace halfstep::verify
