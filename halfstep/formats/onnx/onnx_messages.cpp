#include "halfstep/formats/onnx/onnx_messages.h"

#include <array>

namespace halfstep::formats::onnx {
namespace {

/// Positions in kSchema.
enum Kind : uint8_t {
  model,
  opset,
  graph,
  node,
  attribute,
  value_info,
  type,
  tensor_type,
  other_type,
  shape,
  dimension,
  tensor,
  sparse,
  entry,
  function,
  property
};

using enum WireHolds;

constexpr std::array kModel = {WireField{1, number},
                               WireField{2, name},
                               WireField{3, name},
                               WireField{7, message, Kind::graph},
                               WireField{8, message, Kind::opset},
                               WireField{25, message, Kind::function}};
constexpr std::array kOpset = {WireField{1, name}, WireField{2, number}};
constexpr std::array kGraph = {WireField{1, message, Kind::node},        WireField{2, name},
                               WireField{5, message, Kind::tensor},      WireField{11, message, Kind::value_info},
                               WireField{12, message, Kind::value_info}, WireField{15, message, Kind::sparse}};
constexpr std::array kNode = {WireField{1, name},
                              WireField{2, name},
                              WireField{3, name},
                              WireField{4, name},
                              WireField{5, message, Kind::attribute},
                              WireField{7, name},
                              WireField{8, name},
                              WireField{9, message, Kind::property}};
constexpr std::array kAttribute = {WireField{1, name},
                                   WireField{2, number, 0, Wire::fixed32},
                                   WireField{3, number},
                                   WireField{4, text},
                                   WireField{5, message, Kind::tensor},
                                   WireField{6, message, Kind::graph},
                                   WireField{7, numbers, 0, Wire::fixed32},
                                   WireField{8, numbers},
                                   WireField{9, text},
                                   WireField{20, number},
                                   WireField{21, name}};
constexpr std::array kValueInfo = {WireField{1, name}, WireField{2, message, Kind::type}};
constexpr std::array kType = {WireField{1, message, Kind::tensor_type}, WireField{4, message, Kind::other_type},
                              WireField{5, message, Kind::other_type}, WireField{8, message, Kind::other_type},
                              WireField{9, message, Kind::other_type}};
constexpr std::array kTensorType = {WireField{1, number}, WireField{2, message, Kind::shape}};
constexpr std::array<WireField, 0> kOtherType = {};
constexpr std::array kShape = {WireField{1, message, Kind::dimension}};
constexpr std::array kDimension = {WireField{1, number}, WireField{2, name}};
constexpr std::array kTensor = {WireField{1, numbers},
                                WireField{2, number},
                                WireField{4, values, 0, Wire::fixed32},
                                WireField{5, values},
                                WireField{6, text},
                                WireField{7, values},
                                WireField{8, name},
                                WireField{9, raw},
                                WireField{10, values, 0, Wire::fixed64},
                                WireField{11, values},
                                WireField{13, message, Kind::entry},
                                WireField{14, number}};
constexpr std::array kSparse = {WireField{1, message, Kind::tensor}};
constexpr std::array kEntry = {WireField{1, name}, WireField{2, name}};
constexpr std::array kProperty = {WireField{1, text}, WireField{2, text}};
constexpr std::array kFunction = {WireField{1, name},
                                  WireField{4, name},
                                  WireField{5, name},
                                  WireField{6, name},
                                  WireField{7, message, Kind::node},
                                  WireField{9, message, Kind::opset},
                                  WireField{10, name},
                                  WireField{11, message, Kind::attribute},
                                  WireField{13, name}};
constexpr std::array<WireMessage, 16> kSchema = {{{kModel},
                                                  {kOpset},
                                                  {kGraph, WireRole::graph},
                                                  {kNode, WireRole::node},
                                                  {kAttribute},
                                                  {kValueInfo},
                                                  {kType},
                                                  {kTensorType},
                                                  {kOtherType},
                                                  {kShape},
                                                  {kDimension},
                                                  {kTensor},
                                                  {kSparse},
                                                  {kEntry},
                                                  {kFunction},
                                                  {kProperty}}};

}  // namespace

std::string short_form(std::span<const std::byte> bytes, WireRoot root, const std::string& name,
                       const WireLimits& limits) {
  return formats::short_form(bytes, kSchema, root == WireRoot::model ? Kind::model : Kind::tensor, name, limits);
}

bool looks_like_model(std::span<const std::byte> bytes) {
  constexpr size_t kSome = 4096;  // bytes that may precede the graph
  size_t at = 0;
  for (size_t i = 0; i < kSome && at < bytes.size(); ++i) {
    uint64_t tag = 0, size = 0;
    if (!read_varint(bytes, at, tag)) return false;
    const uint64_t number = tag >> 3;
    const bool is_number = number == 1 || number == 5;
    const bool is_bytes =
        (number >= 2 && number <= 8 && number != 5) || number == 14 || number == 20 || number == 25 || number == 26;
    if ((tag & 7) != (is_number ? 0 : 2) || !(is_number || is_bytes)) return false;
    if (number == 7) return true;
    if (!read_varint(bytes, at, size)) return false;
    if (is_bytes && size > bytes.size() - at) return false;
    if (is_bytes) at += static_cast<size_t>(size);
  }
  return false;
}

}  // namespace halfstep::formats::onnx
