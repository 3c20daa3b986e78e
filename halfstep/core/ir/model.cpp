#include "halfstep/core/ir/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "halfstep/core/ir/detail.h"
#include "halfstep/core/ir/errors.h"
#include "halfstep/core/ir/hash.h"
#include "halfstep/core/ir/metadata/metadata_json.h"

namespace halfstep {
namespace {

template <class Code>
void check_range(const Tensor& tensor, int lowest, int highest, const std::string& where) {
  const auto codes = tensor.data<Code>();
  const auto wrong =
      std::find_if(codes.begin(), codes.end(), [&](Code code) { return code < lowest || code > highest; });
  if (wrong != codes.end()) fail(errors::code_out_of_range(where, *wrong, name(tensor.dtype()), lowest, highest));
}

/// Checks the range of codes, because a byte can hold more than a code of fewer bits.
void check_codes(const Tensor& tensor, const std::string& where) {
  const int bits = bits_of(tensor.dtype());
  if (bits == 8 || size_of(tensor.dtype()) > 1 || tensor.dtype() == DType::boolean) return;
  const int half = 1 << (bits - 1);
  if (stored_as<int8_t>(tensor.dtype())) return check_range<int8_t>(tensor, -half, half - 1, where);
  check_range<uint8_t>(tensor, 0, 2 * half - 1, where);
}

/// Whether `samples` match the argument. The first extent is free, because it counts samples.
bool takes(const Value argument, const Tensor& samples) {
  const Dims &expected = argument.dims(), &found = samples.dims();
  if (argument.dtype() != samples.dtype() || found.size() != std::max<size_t>(1, expected.size())) return false;
  for (size_t axis = 1; axis < expected.size(); ++axis) {
    if (expected[axis] != kUnknown && expected[axis] != found[axis]) return false;
  }
  return true;
}

void check_samples(const Source& source) {
  const Graph& graph = source.network.graph;
  if (source.samples.empty()) return;
  std::set<int64_t> counts;
  const std::string where = fmt::format("graph '{}'", graph.name());
  const auto at = [&](const Value argument) { return fmt::format("{}: argument '{}'", where, argument.name()); };
  for (const Value argument : graph.arguments()) {
    const auto found = source.samples.find(argument.name());
    if (found == source.samples.end() || !found->second.defined())
      fail(errors::source_samples(at(argument), "no samples", to_string(argument.type())));
    if (!takes(argument, found->second))
      fail(errors::source_samples(at(argument), "samples " + to_string(found->second.type()),
                                  to_string(argument.type())));
    counts.insert(found->second.dims()[0]);
  }
  if (source.samples.size() != graph.arguments().size())
    fail(errors::source_samples(where, fmt::format("samples for {} arguments", source.samples.size()),
                                graph.arguments().size()));
  if (counts.size() > 1)
    fail(errors::source_samples(where, "different numbers of samples for its arguments", "as many for each"));
}

void check_source(const Source& source) {
  if (source.network.source) fail(errors::source_of_source(source.network.graph.name()));
  check(source.network);
  check_samples(source);
}

}  // namespace

Tensors Source::inputs(int64_t begin, int64_t count) const {
  Tensors inputs;
  for (const auto& [name, tensor] : samples) {
    const Tensor rows = tensor.rows(begin, begin + count);
    inputs.emplace(name, network.graph.value(name).dims().empty() ? rows.reshaped({}) : rows);
  }
  return inputs;
}

void check(const Model& model) {
  for (const Value declared : model.graph.tensors()) {
    const std::string where = fmt::format("graph '{}': tensor '{}'", model.graph.name(), declared.name());
    const auto found = model.tensors.find(declared.name());
    if (found == model.tensors.end() || !found->second.defined())
      fail(errors::tensor_contents(where, "no contents", to_string(declared.type())));
    if (found->second.type() != declared.type())
      fail(
          errors::tensor_contents(where, "contents of " + to_string(found->second.type()), to_string(declared.type())));
    check_codes(found->second, where);
  }
  for (const auto& [name, tensor] : model.tensors) {
    if (!model.graph.tensor(name)) fail(errors::tensor_undeclared(model.graph.name(), name));
  }
  detail::check_metadata(model);
  if (model.source) detail::with_prefix("source", [&] { check_source(*model.source); });
}

Model clone(const Model& model) {
  Model copy = model;
  for (auto& [name, tensor] : copy.tensors) tensor = tensor.clone();
  return copy;
}

uint64_t digest(const Model& model) {
  using namespace std::string_view_literals;
  detail::Hash hash;
  for (const Value declared : model.graph.tensors()) {
    if (declared.role() == Role::constant) continue;
    const Tensor& tensor = model.tensors.at(declared.name());
    hash.update(declared.name());
    hash.update("\0"sv);
    hash.update(to_string(tensor.type()));
    hash.update({tensor.raw(), tensor.bytes()});
  }
  return hash.digest64();
}

std::string digest_hex(const Model& model) { return fmt::format("{:016x}", digest(model)); }

}  // namespace halfstep
