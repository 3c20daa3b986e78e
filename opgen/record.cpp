#include "opgen/record.h"

#include <algorithm>

namespace halfstep::opgen {
namespace {

template <class T>
const T* find_named(const std::vector<T>& list, std::string_view name) {
  const auto found = std::find_if(list.begin(), list.end(), [name](const T& item) { return item.name == name; });
  return found == list.end() ? nullptr : &*found;
}

/// Whether the dtype is used only for codes.
bool is_code_type(DType dtype) { return bits_of(dtype) <= 16 && !is_float(dtype) && dtype != DType::boolean; }

bool is_port_of_codes(const Port& port, const Record& record) {
  const auto variable = record.type_variables.find(port.type.name);
  const bool is_variable = port.type.kind == TypeSpec::Kind::variable && variable != record.type_variables.end();
  const std::vector<DType>& types = is_variable ? variable->second.dtypes : port.type.type_class.dtypes;
  return !types.empty() && std::ranges::all_of(types, is_code_type);
}

bool is_quantizer(std::string_view trait) {
  return trait == "quantizer" || trait == "to_codes" || trait == "from_codes" || trait == "to_codes_and_back";
}

}  // namespace

bool TypeClass::admits_float() const { return std::any_of(dtypes.begin(), dtypes.end(), is_float); }

const Port* Record::input(std::string_view port) const { return find_named(inputs, port); }
const Port* Record::output(std::string_view port) const { return find_named(outputs, port); }
const AttributeSpec* Record::attribute(std::string_view wanted) const { return find_named(attributes, wanted); }

std::vector<std::string> Record::attribute_names() const {
  std::vector<std::string> names;
  for (const AttributeSpec& spec : attributes) names.push_back(spec.name);
  return names;
}

bool Record::has_codes() const {
  const auto of_codes = [this](const Port& port) { return is_port_of_codes(port, *this); };
  if (says_codes) return *says_codes;
  return (quant && is_quantizer(quant->trait)) || std::ranges::any_of(inputs, of_codes) ||
         std::ranges::any_of(outputs, of_codes);
}

const Record* find(const Records& records, std::string_view name) {
  const auto found =
      std::find_if(records.begin(), records.end(), [name](const Record& record) { return record.name == name; });
  return found == records.end() ? nullptr : &*found;
}

std::string record_place(const Record& record) { return fmt::format("{}:{}", record.source.file, record.source.line); }

std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

std::optional<TypeClass> find_type_class(std::string_view text) {
  using enum DType;
  static const std::vector<TypeClass> kClasses = {
      {"float", {f32, f64, f16, bf16}},
      {"int", {i2, u2, i4, u4, i8, u8, i16, u16, i32, i64}},
      {"whole", {i8, i16, i32, i64, u8, u16, u32, u64}},
      {"signed", {f32, f64, f16, bf16, i8, i16, i32, i64}},
      {"number", {f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64}},
      {"plain", {f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, boolean}},
      {"index", {i32, i64}},
      {"small_float", {f8_e4m3fn, f8_e4m3fnuz, f8_e5m2, f8_e5m2fnuz, f4_e2m1fn}},
      {"codes", {u8, u16, i8, i16}},
      {"weights", {i8, i4}},
      {"any", all_dtypes()},
  };
  if (const TypeClass* found = find_named(kClasses, text)) return *found;
  if (const auto dtype = parse_dtype(text)) return TypeClass{std::string(text), {*dtype}};
  return std::nullopt;
}

}  // namespace halfstep::opgen
