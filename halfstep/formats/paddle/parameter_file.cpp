#include "halfstep/formats/paddle/parameter_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "halfstep/core/base/status.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/builder/protobuf_wire.h"
#include "halfstep/formats/paddle/errors.h"
#include "halfstep/formats/paddle/types.h"
#include "program.pb.h"

namespace halfstep::formats::paddle {
namespace {

/// Maximum bytes of a TensorDesc, which has a type and extents. Far above real ones.
constexpr size_t kMaxDescription = 4096;

class Reader {
 public:
  Reader(const std::shared_ptr<const io::MappedFile>& owner, std::span<const std::byte> bytes)
      : owner_(owner), bytes_(bytes) {}

  bool ended() const { return at_ == bytes_.size(); }
  size_t left() const { return bytes_.size() - at_; }

  /// Reads the next tensor. `where` names it in messages.
  Tensor tensor(const std::string& where) {
    expect_version(where, "a list of tensors");
    for (uint64_t levels = number<uint64_t>(where); levels > 0; --levels) take(number<uint64_t>(where), where);
    expect_version(where, "a tensor");
    const Type type = type_of(take(static_cast<uint64_t>(std::max(number<int32_t>(where), 0)), where), where);
    const auto count = static_cast<uint64_t>(count_elements(type.dims));
    const auto elements = take(count > left() ? count : count * size_of(type.dtype), where);
    const bool aligned = reinterpret_cast<uintptr_t>(elements.data()) % size_of(type.dtype) == 0;
    if (owner_ != nullptr && aligned && !elements.empty()) return Tensor::over(io::memory_of(owner_, elements), type);
    Tensor tensor = Tensor::uninitialized(type.dtype, type.dims);
    std::copy(elements.begin(), elements.end(), tensor.raw());
    return tensor;
  }

 private:
  std::span<const std::byte> take(uint64_t size, const std::string& where) {
    if (size > left()) fail(errors::parameters_cut_off(where, at_, size, left()));
    const auto part = bytes_.subspan(at_, static_cast<size_t>(size));
    at_ += static_cast<size_t>(size);
    return part;
  }

  template <class T>
  T number(const std::string& where) {
    T value{};
    std::memcpy(&value, take(sizeof value, where).data(), sizeof value);
    return value;
  }

  void expect_version(const std::string& where, const char* what) {
    const size_t start = at_;
    if (const auto version = number<uint32_t>(where); version != 0)
      fail(errors::parameters_version(where, start, version, what));
  }

  Type type_of(std::span<const std::byte> description, const std::string& where) const {
    proto::TensorDesc desc;
    if (description.size() > kMaxDescription ||
        !desc.ParseFromArray(description.data(), static_cast<int>(description.size())))
      fail(errors::parameters_description(where, at_));
    const ElementType* element = find_type_by_number(desc.data_type());
    const auto dtype = dtype_of(element);
    if (element == nullptr) fail(errors::element_type_unknown(where, desc.data_type()));
    if (!dtype) fail(errors::element_type_not_supported(where, element->name));
    const Dims dims(desc.dims().begin(), desc.dims().end());
    if (desc.dims_size() > kMaxRank || std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; }))
      fail(errors::wrong_extents(where, to_string(dims), fmt::format("at most {} extents, none below 0", kMaxRank)));
    try {
      count_elements(dims);
    } catch (const Error& error) {
      throw prefixed(where, error);
    }
    return {*dtype, dims};
  }

  const std::shared_ptr<const io::MappedFile>& owner_;
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

void check_claim(const Tensor& tensor, const Claim& claim, const std::string& where) {
  const bool same_dims = std::equal(claim.dims.begin(), claim.dims.end(), tensor.dims().begin(), tensor.dims().end(),
                                    [](int64_t a, int64_t b) { return a == kUnknown || a == b; });
  // Paddle stores weights as int8 in a program that still declares float32.
  const bool is_code = tensor.dtype() == DType::i8 && claim.dtype == DType::f32;
  if ((claim.dtype != tensor.dtype() && !is_code) || !same_dims)
    fail(errors::parameter_differs(where, to_string(tensor.type()), claim.type_name + to_string(claim.dims)));
}

}  // namespace

std::map<std::string, Tensor> read_parameters(const std::shared_ptr<const io::MappedFile>& owner,
                                              std::span<const std::byte> bytes,
                                              const std::map<std::string, Claim>& claims, const std::string& name) {
  Reader reader(owner, bytes);
  std::map<std::string, Tensor> tensors;
  for (const auto& [parameter, claim] : claims) {
    const std::string where = fmt::format("{}: parameter '{}'", name, parameter);
    if (reader.ended()) fail(errors::parameters_end_early(where, tensors.size(), claims.size()));
    const Tensor tensor = reader.tensor(where);
    check_claim(tensor, claim, where);
    tensors.emplace(parameter, tensor);
  }
  if (!reader.ended()) fail(errors::parameters_left_over(name, reader.left(), claims.size()));
  return tensors;
}

}  // namespace halfstep::formats::paddle
