#include "halfstep/formats/paddle/program_desc.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "halfstep/core/base/status.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/builder/protobuf_wire.h"
#include "halfstep/formats/paddle/errors.h"
#include "halfstep/formats/paddle/types.h"
#include "program.pb.h"

namespace halfstep::formats::paddle {
namespace {

/// Positions in kSchema.
enum Kind : uint8_t { program, version, block, var, var_type, dense_tensor, tensor, op, op_var, op_attr, scalar };

using enum WireHolds;

constexpr std::array kProgram = {WireField{1, message, Kind::block}, WireField{4, message, Kind::version}};
constexpr std::array kVersion = {WireField{1, number}};
constexpr std::array kBlock = {WireField{1, number}, WireField{2, number}, WireField{3, message, Kind::var},
                               WireField{4, message, Kind::op}};
constexpr std::array kVar = {WireField{1, name}, WireField{2, message, Kind::var_type}, WireField{3, number}};
constexpr std::array kVarType = {WireField{1, number}, WireField{3, message, Kind::dense_tensor}};
constexpr std::array kDenseTensor = {WireField{1, message, Kind::tensor}};
constexpr std::array kTensor = {WireField{1, number}, WireField{2, numbers}};
constexpr std::array kOp = {WireField{1, message, Kind::op_var}, WireField{2, message, Kind::op_var},
                            WireField{3, name}, WireField{4, message, Kind::op_attr}};
constexpr std::array kOpVar = {WireField{1, name}, WireField{2, name}};
constexpr std::array kOpAttr = {WireField{1, name},
                                WireField{2, number},
                                WireField{3, number},
                                WireField{4, number, 0, Wire::fixed32},
                                WireField{5, text},
                                WireField{6, numbers},
                                WireField{7, numbers, 0, Wire::fixed32},
                                WireField{8, text},
                                WireField{10, number},
                                WireField{11, numbers},
                                WireField{12, number},
                                WireField{13, number},
                                WireField{15, numbers},
                                WireField{16, numbers, 0, Wire::fixed64},
                                WireField{19, number, 0, Wire::fixed64},
                                WireField{20, message, Kind::scalar},
                                WireField{21, message, Kind::scalar}};
constexpr std::array kScalar = {WireField{1, number}, WireField{2, number}, WireField{3, number},
                                WireField{4, number, 0, Wire::fixed64}};
constexpr std::array<WireMessage, 11> kSchema = {{{kProgram},
                                                  {kVersion},
                                                  {kBlock},
                                                  {kVar},
                                                  {kVarType},
                                                  {kDenseTensor},
                                                  {kTensor},
                                                  {kOp, WireRole::node},
                                                  {kOpVar},
                                                  {kOpAttr},
                                                  {kScalar}}};

/// AttrType of an attribute, and Type of a scalar.
enum AttrType : int {
  kInt = 0,
  kFloat = 1,
  kString = 2,
  kInts = 3,
  kFloats = 4,
  kStrings = 5,
  kBoolean = 6,
  kBooleans = 7,
  kBlockIndex = 8,
  kLong = 9,
  kLongs = 11,
  kFloat64s = 12,
  kFloat64 = 15,
  kScalarValue = 16,
  kScalarValues = 17
};
enum ScalarType : int { kScalarBoolean = 1, kScalarLong = 2, kScalarFloat64 = 3 };

/// VarType.Type of variables that hold no tensor of the model.
constexpr std::array kNoData = {9, 10, 11, 15, 17, 28};  // feed and fetch lists, scopes, readers, raw

constexpr const char* kEmpty = "@EMPTY@";

Claim claim_of(const proto::VarDesc& var) {
  Claim claim;
  if (!var.type().has_dense_tensor()) return claim;
  const proto::TensorDesc& tensor = var.type().dense_tensor().tensor();
  const ElementType* type = find_type_by_number(tensor.data_type());
  claim.dtype = dtype_of(type);
  claim.type_name = type == nullptr ? fmt::format("type {}", tensor.data_type()) : std::string(type->name);
  for (const int64_t extent : tensor.dims()) claim.dims.push_back(extent < 0 ? kUnknown : extent);
  return claim;
}

class Reader {
 public:
  Reader(const proto::ProgramDesc& desc, const std::string& name) : desc_(desc), name_(name) {}

  Program read() {
    program_.format = "paddle";
    program_.version = desc_.version().version();
    if (desc_.blocks_size() == 0) fail(errors::not_paddle_program(name_));
    program_.blocks.resize(static_cast<size_t>(desc_.blocks_size()));
    for (int i = 0; i < desc_.blocks_size(); ++i) {
      if (desc_.blocks(i).idx() != i)
        fail(errors::block_index_wrong(fmt::format("{}: block {}", name_, i), desc_.blocks(i).idx(), i));
      read_vars(i);
    }
    for (int i = 0; i < desc_.blocks_size(); ++i) read_ops(i);
    gather_ports();
    return std::move(program_);
  }

 private:
  Block& block(int i) { return program_.blocks[static_cast<size_t>(i)]; }

  void read_vars(int i) {
    for (const proto::VarDesc& var : desc_.blocks(i).vars()) {
      const bool has_data = std::find(kNoData.begin(), kNoData.end(), var.type().type()) == kNoData.end() &&
                            var.type().has_dense_tensor();
      if (!has_data) continue;
      Claim claim = claim_of(var);
      if (claim.dims.size() > kMaxRank)
        fail(errors::rank_too_large(fmt::format("{}: variable '{}'", name_, var.name()), claim.dims.size(), kMaxRank));
      if (var.persistable())
        program_.parameters.emplace(var.name(), std::move(claim));
      else if (!block(i).values.emplace(var.name(), std::move(claim)).second)
        fail(errors::name_defined_twice(fmt::format("{}: block {}", name_, i), var.name()));
    }
  }

  void read_ops(int i) {
    for (const proto::OpDesc& op : desc_.blocks(i).ops()) {
      if (op.type() == "feed" || op.type() == "fetch") {
        read_port(op, i);
        continue;
      }
      Operator read{op.type(), slots_of(op.inputs()), slots_of(op.outputs()), {}, {}};
      for (const proto::OpDesc::Attr& attr : op.attrs()) read_attribute(attr, i, read);
      block(i).operators.push_back(std::move(read));
    }
  }

  static std::vector<Slot> slots_of(const google::protobuf::RepeatedPtrField<proto::OpDesc::Var>& vars) {
    std::vector<Slot> slots;
    for (const proto::OpDesc::Var& var : vars) {
      Slot slot{var.parameter(), {var.arguments().begin(), var.arguments().end()}};
      std::replace(slot.values.begin(), slot.values.end(), std::string(kEmpty), std::string());
      slots.push_back(std::move(slot));
    }
    return slots;
  }

  std::string where(const Operator& op, const proto::OpDesc::Attr& attr) const {
    return fmt::format("{}: {}: attribute {}", name_, op.type, attr.name());
  }

  void read_attribute(const proto::OpDesc::Attr& attr, int i, Operator& op) {
    if (attr.type() == kBlockIndex) {
      // A nested block must come after the enclosing one, so that no block contains itself.
      if (attr.block_idx() <= i || attr.block_idx() >= desc_.blocks_size())
        fail(errors::block_index_wrong(where(op, attr), attr.block_idx(),
                                       fmt::format("one of {} to {}", i + 1, desc_.blocks_size() - 1)));
      op.blocks.push_back(static_cast<size_t>(attr.block_idx()));
      return;
    }
    if (!op.attributes.emplace(attr.name(), value_of(op, attr)).second)
      fail(errors::attribute_twice(fmt::format("{}: {}", name_, op.type), attr.name()));
  }

  /// Returns the value of a required field, because protobuf returns 0 for a missing one.
  template <class T>
  T require(const Operator& op, const proto::OpDesc::Attr& attr, bool has, T value, const char* what) const {
    if (!has) fail(errors::attribute_without_value(where(op, attr), what, attr.type()));
    return value;
  }

  Attribute value_of(const Operator& op, const proto::OpDesc::Attr& a) const {
    switch (a.type()) {
      case kInt: return require(op, a, a.has_i(), int64_t{a.i()}, "integer");
      case kLong: return require(op, a, a.has_l(), int64_t{a.l()}, "integer");
      case kFloat: return require(op, a, a.has_f(), static_cast<double>(a.f()), "number");
      case kFloat64: return require(op, a, a.has_float64(), a.float64(), "number");
      case kBoolean: return require(op, a, a.has_b(), a.b(), "boolean");
      case kString: return require(op, a, a.has_s(), a.s(), "word");
      case kInts: return std::vector<int64_t>(a.ints().begin(), a.ints().end());
      case kLongs: return std::vector<int64_t>(a.longs().begin(), a.longs().end());
      case kBooleans: return std::vector<int64_t>(a.bools().begin(), a.bools().end());
      case kFloats: return std::vector<double>(a.floats().begin(), a.floats().end());
      case kFloat64s: return std::vector<double>(a.float64s().begin(), a.float64s().end());
      case kStrings: return std::vector<std::string>(a.strings().begin(), a.strings().end());
      case kScalarValue: return scalar_of(op, a, a.scalar());
      case kScalarValues: return scalars_of(op, a);
      default: return fmt::format("of type {}", a.type());
    }
  }

  /// Returns a list of numbers of any kinds.
  Attribute scalars_of(const Operator& op, const proto::OpDesc::Attr& a) const {
    std::vector<double> numbers;
    for (const proto::OpDesc::Scalar& scalar : a.scalars()) {
      Attribute value = scalar_of(op, a, scalar);
      if (std::holds_alternative<std::string>(value)) return value;
      const auto* flag = std::get_if<bool>(&value);
      const auto* whole = std::get_if<int64_t>(&value);
      numbers.push_back(flag != nullptr    ? (*flag ? 1.0 : 0.0)
                        : whole != nullptr ? static_cast<double>(*whole)
                                           : std::get<double>(value));
    }
    return numbers;
  }

  Attribute scalar_of(const Operator& op, const proto::OpDesc::Attr& a, const proto::OpDesc::Scalar& scalar) const {
    switch (scalar.type()) {
      case kScalarBoolean: return require(op, a, scalar.has_b(), scalar.b(), "boolean");
      case kScalarLong: return require(op, a, scalar.has_i(), int64_t{scalar.i()}, "integer");
      case kScalarFloat64: return require(op, a, scalar.has_r(), scalar.r(), "number");
      default: return fmt::format("a scalar of type {}", scalar.type());
    }
  }

  /// feed and fetch are in the outermost block, and `col` is the position.
  void read_port(const proto::OpDesc& op, int i) {
    const bool feeds = op.type() == "feed";
    const auto& slots = feeds ? op.outputs() : op.inputs();
    const auto col =
        std::find_if(op.attrs().begin(), op.attrs().end(), [](const auto& a) { return a.name() == "col"; });
    if (i != 0 || slots.size() != 1 || slots[0].arguments_size() != 1 || col == op.attrs().end())
      fail(errors::port_wrong(fmt::format("{}: {}", name_, op.type()),
                              "one value of the outermost block with a position"));
    auto& ports = feeds ? feeds_ : fetches_;
    if (!ports.emplace(col->i(), slots[0].arguments(0)).second)
      fail(errors::port_position_twice(name_, "operators " + op.type(), col->i()));
  }

  void gather_ports() {
    for (const auto& [col, value] : feeds_) {
      const auto found = block(0).values.find(value);
      if (found == block(0).values.end()) fail(errors::fed_value_unknown(name_, value));
      program_.inputs.push_back({value, found->second});
    }
    for (const auto& [col, value] : fetches_) program_.outputs.push_back(value);
  }

  const proto::ProgramDesc& desc_;
  const std::string& name_;
  Program program_;
  std::map<int64_t, std::string> feeds_, fetches_;
};

}  // namespace

Program read_program_desc(std::span<const std::byte> bytes, const std::string& name) {
  const std::string text = short_form(bytes, kSchema, Kind::program, name);
  proto::ProgramDesc desc;
  if (text.size() > INT32_MAX || !desc.ParseFromString(text)) fail(errors::not_protobuf(name));
  return Reader(desc, name).read();
}

bool looks_like_program_desc(std::span<const std::byte> bytes) {
  constexpr auto kBlocks = std::byte{0x0A}, kIndex = std::byte{0x08};
  size_t at = 1;
  uint64_t size = 0;
  return bytes.size() > 2 && bytes[0] == kBlocks && read_varint(bytes, at, size) && at < bytes.size() &&
         bytes[at] == kIndex;
}

}  // namespace halfstep::formats::paddle
