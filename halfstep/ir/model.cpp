#include "halfstep/ir/model.h"

#include <algorithm>

#include "halfstep/ir/detail.h"
#include "halfstep/ir/hash.h"

namespace halfstep {
namespace {

void check_codes(const Tensor& tensor, const std::string& where) {
  const auto codes = tensor.data<int8_t>();
  const auto wrong = std::find_if(codes.begin(), codes.end(), [](int8_t code) { return code < -8 || code > 7; });
  if (wrong != codes.end()) fail("{}: found code {} in an i4 tensor, expected -8 to 7", where, *wrong);
}

}  // namespace

void check(const Model& model) {
  for (const Value declared : model.graph.tensors()) {
    const std::string where = fmt::format("graph '{}': tensor '{}'", model.graph.name(), declared.name());
    const auto found = model.tensors.find(declared.name());
    if (found == model.tensors.end() || !found->second.defined())
      fail("{}: found no contents, expected {}", where, to_string(declared.type()));
    if (found->second.type() != declared.type())
      fail("{}: found contents of {}, expected {}", where, to_string(found->second.type()), to_string(declared.type()));
    if (declared.dtype() == DType::i4) check_codes(found->second, where);
  }
  for (const auto& [name, tensor] : model.tensors) {
    if (!model.graph.tensor(name))
      fail("graph '{}': found contents of a tensor '{}', which is not declared", model.graph.name(), name);
  }
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
