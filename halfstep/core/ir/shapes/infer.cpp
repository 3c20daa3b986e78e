#include "halfstep/core/ir/shapes/infer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/errors.h"

namespace halfstep {
namespace {

std::string show(Dim dim) { return dim.known() ? std::to_string(dim.value()) : "unknown"; }

std::string show(std::string_view text) { return std::string(text); }
std::string show(bool value) { return to_string(Attribute(value)); }
std::string show(double value) { return to_string(Attribute(value)); }
std::string show(const Operand* operand) {
  return quote(operand->type != nullptr ? to_string(operand->dims()) : "unknown");
}
template <class T>
std::string show(const T* value) {
  return to_string(Attribute(*value));
}
std::string show(const Fact& fact) {
  return std::visit([](const auto& value) { return show(value); }, fact.value());
}

std::string class_text(const TypeClass& type_class) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (type_class.contains(static_cast<DType>(i))) names.push_back(name(static_cast<DType>(i)));
  }
  const bool says_more = names.size() > 1 && type_class.name.find(" or ") == std::string_view::npos;
  return says_more ? fmt::format("{} ({})", type_class.name, fmt::join(names, ", ")) : std::string(type_class.name);
}

/// Returns "-4 to 3" if the rule restricts the first fact to an axis and the second fact is the rank.
std::optional<std::string> range_text(std::string_view rule, std::initializer_list<Fact> facts) {
  if (facts.size() != 2) return std::nullopt;
  const Fact &axis = *facts.begin(), &rank = *(facts.begin() + 1);
  const auto* count = std::get_if<Dim>(&rank.value());
  if (count == nullptr || !count->known() || count->value() < 1) return std::nullopt;
  if (rule != fmt::format("{0} >= 0 - {1} and {0} < {1}", axis.text(), rank.text())) return std::nullopt;
  return fmt::format("{} to {}", -count->value(), count->value() - 1);
}

bool agrees(int64_t a, int64_t b) { return a == b || a == kUnknown || b == kUnknown; }

}  // namespace

Fact::Fact(std::string_view text, Dim value) : text_(text), value_(value) {}
Fact::Fact(std::string_view text, double value) : text_(text), value_(value) {}
Fact::Fact(std::string_view text, bool value) : text_(text), value_(value) {}
Fact::Fact(std::string_view text, std::string_view value) : text_(text), value_(value) {}
Fact::Fact(std::string_view text, const std::string& value) : text_(text), value_(&value) {}
Fact::Fact(std::string_view text, const std::vector<int64_t>& value) : text_(text), value_(&value) {}
Fact::Fact(std::string_view text, const std::vector<double>& value) : text_(text), value_(&value) {}
Fact::Fact(std::string_view text, const std::vector<std::string>& value) : text_(text), value_(&value) {}
Fact::Fact(std::string_view text, const Operand& value) : text_(text), value_(&value) {}

Inference::Inference(const OpSite& site) : site_(site) {
  const size_t ports = site.info.inputs.size();
  const bool variadic = site.info.has_variadic_input();
  if (variadic ? site.in.size() + 1 < ports : site.in.size() != ports)
    fail(errors::operand_count(site.where, site.info.name, site.in.size(),
                               variadic ? fmt::format("at least {}", ports - 1) : std::to_string(ports)));
}

void Inference::reject_dtype(std::string_view operand, std::string_view found, const std::string& expected) const {
  fail(errors::operand_dtype(site_.where, site_.info.name, operand, found, expected));
}

void Inference::reject_dims(const std::string& operand, const std::string& found, const std::string& expected) const {
  fail(errors::operand_dims(site_.where, site_.info.name, operand, found, expected));
}

Operand Inference::optional(int port) const {
  return {site_.info.inputs[static_cast<size_t>(port)].name, site_.in[static_cast<size_t>(port)]};
}

Operand Inference::required(int port) const {
  const Operand operand = optional(port);
  if (operand.type == nullptr) fail(errors::operand_missing(site_.where, site_.info.name, operand.port));
  return operand;
}

std::vector<Operand> Inference::variadic() const {
  std::vector<Operand> operands;
  const size_t port = site_.info.inputs.size() - 1;
  for (const Type* type : site_.in.subspan(port)) {
    if (type == nullptr) fail(errors::operand_missing(site_.where, site_.info.name, site_.info.inputs[port].name));
    operands.push_back({site_.info.inputs[port].name, type});
  }
  return operands;
}

void Inference::expect_class(const Operand& operand, const TypeClass& type_class) const {
  if (operand.type == nullptr) return;
  if (!type_class.contains(operand.type->dtype))
    reject_dtype(operand.port, name(operand.type->dtype), class_text(type_class));
}

DType Inference::bind_dtype(const Operand& operand, const TypeClass& type_class) const {
  expect_class(operand, type_class);
  return operand.type->dtype;
}

DType Inference::bind_dtype(const std::vector<Operand>& operands, const TypeClass& type_class) const {
  if (operands.empty()) fail(errors::operand_missing(site_.where, site_.info.name, site_.info.inputs.back().name));
  const DType dtype = bind_dtype(operands[0], type_class);
  for (const Operand& operand : operands) expect_dtype(operand, dtype);
  return dtype;
}

void Inference::expect_dtype(const Operand& operand, DType dtype) const {
  if (operand.type != nullptr && operand.type->dtype != dtype)
    reject_dtype(operand.port, name(operand.type->dtype), std::string(name(dtype)));
}

void Inference::expect_dtype(const Operand& operand, const Operand& other) const {
  if (operand.type != nullptr && other.type != nullptr && operand.type->dtype != other.type->dtype)
    reject_dtype(operand.port, name(operand.type->dtype), fmt::format("{} as {}", name(other.type->dtype), other.port));
}

void Inference::expect_dims(const Operand& operand, const Operand& other) const {
  if (operand.type != nullptr && other.type != nullptr) expect_dims(operand, other.port, other.dims());
}

void Inference::expect_dims(const Operand& operand, std::string_view text, const Dims& dims) const {
  if (operand.type == nullptr) return;
  const Dims& found = operand.dims();
  if (!std::equal(found.begin(), found.end(), dims.begin(), dims.end(), agrees))
    reject_dims(std::string(operand.port), to_string(found), fmt::format("{} as {}", to_string(dims), text));
}

void Inference::bind(const Operand& operand, std::initializer_list<Extent> extents, bool open) const {
  if (operand.type == nullptr) return;
  const Dims& dims = operand.dims();
  if (open ? dims.size() < extents.size() : dims.size() != extents.size())
    reject_dims(std::string(operand.port), fmt::format("{} dims", dims.size()),
                fmt::format("{}{}", open ? "at least " : "", extents.size()));
  size_t axis = 0;
  for (const Extent& extent : extents) {
    const Dim found = dims[axis];
    if ((found == extent.value()) == Truth::no) {
      const std::string value = show(extent.value());
      reject_dims(fmt::format("dim {} of {}", axis, operand.port), show(found),
                  extent.text() == value ? value : fmt::format("{} = {}", extent.text(), value));
    }
    if (!extent.value().known()) extent.bind(found);
    ++axis;
  }
}

void Inference::rule(std::string_view label, std::string_view text, Truth holds,
                     std::initializer_list<Fact> facts) const {
  if (holds != Truth::no) return;
  std::string found;
  for (const Fact& fact : facts) found += fmt::format("{}{} = {}", found.empty() ? "" : ", ", fact.text(), show(fact));
  fail(errors::operator_rule(site_.where, site_.info.name, label, found,
                             range_text(text, facts).value_or(std::string(text))));
}

Dims Inference::dims(std::string_view port, std::initializer_list<Dim> extents) const {
  Dims dims;
  for (const Dim extent : extents) {
    if (extent.known() && extent.value() < 0)
      fail(errors::output_dims(site_.where, site_.info.name, port, dims.size(), extent.value()));
    dims.push_back(extent.known() ? extent.value() : kUnknown);
  }
  return dims;
}

DType Inference::named_dtype(std::string_view attribute) const {
  const auto& text = get<std::string>(site_.attributes, attribute);
  const auto dtype = parse_dtype(text);
  if (!dtype) reject_dtype(attribute, "'" + text + "'", "a dtype");
  return *dtype;
}

DType Inference::named_dtype_or(std::string_view attribute, DType otherwise) const {
  return get<std::string>(site_.attributes, attribute).empty() ? otherwise : named_dtype(attribute);
}

Type Inference::like(const Operand& operand) { return operand.type != nullptr ? *operand.type : Type{DType::f32, {}}; }

Dim rank_of(const Operand& operand) {
  return operand.type != nullptr ? Dim::exactly(static_cast<int64_t>(operand.dims().size())) : Dim::unknown();
}

Dim extent_of(const Operand& operand, Dim axis) {
  if (operand.type == nullptr || !axis.known()) return Dim::unknown();
  const auto rank = static_cast<int64_t>(operand.dims().size());
  const int64_t at = axis.value() < 0 ? axis.value() + rank : axis.value();
  return at >= 0 && at < rank ? Dim(operand.dims()[static_cast<size_t>(at)]) : Dim::unknown();
}

Dim count_of(const Operand& operand) {
  if (operand.type == nullptr) return Dim::unknown();
  Dim count = 1;
  for (const int64_t extent : operand.dims()) count = count * Dim(extent);
  return count;
}

Truth has_dtype(const Operand& operand, DType dtype) {
  return operand.type != nullptr ? truth(operand.type->dtype == dtype) : Truth::unknown;
}

Truth same_dtype(const Operand& a, const Operand& b) {
  return b.type != nullptr ? has_dtype(a, b.type->dtype) : Truth::unknown;
}

std::string_view dtype_name(const Operand& operand) {
  return operand.type != nullptr ? name(operand.type->dtype) : "unknown";
}

Dim lowest_of(std::string_view dtype) {
  const auto found = parse_dtype(dtype);
  if (!found) return Dim::unknown();
  return !is_signed(*found) ? Dim(0) : Dim::exactly(-(int64_t{1} << (bits_of(*found) - 1)));
}

Dim highest_of(std::string_view dtype) {
  const auto found = parse_dtype(dtype);
  if (!found) return Dim::unknown();
  return Dim::exactly((int64_t{1} << (bits_of(*found) - (is_signed(*found) ? 1 : 0))) - 1);
}

Dim choose(Truth condition, Dim a, Dim b) {
  return condition == Truth::unknown ? Dim::unknown() : condition == Truth::yes ? a : b;
}

DType dtype_or(const Operand& operand, DType otherwise) {
  return operand.type != nullptr ? operand.type->dtype : otherwise;
}

namespace {

/// `line` is the axis with a parameter per element, `single` the other axis. Both count from the end.
Truth per_line(const Operand& parameters, const Operand& matrix, size_t line, size_t single) {
  if (parameters.type == nullptr || matrix.type == nullptr) return Truth::unknown;
  const Dims& dims = parameters.dims();
  const Truth is_one = count_of(parameters) == Dim(1);
  Dims expected = matrix.dims();
  if (expected.size() < 2) return is_one;
  const Dim lines = expected[expected.size() - line];
  if (dims.size() == 1) return is_one || Dim(dims[0]) == lines;
  expected[expected.size() - single] = 1;
  return is_one || truth(std::equal(dims.begin(), dims.end(), expected.begin(), expected.end(), agrees));
}

}  // namespace

Truth per_row(const Operand& parameters, const Operand& matrix) { return per_line(parameters, matrix, 2, 1); }
Truth per_column(const Operand& parameters, const Operand& matrix) { return per_line(parameters, matrix, 1, 2); }

Dim element(const std::vector<int64_t>& list, Dim index) {
  const auto size = static_cast<int64_t>(list.size());
  if (!index.known() || index.value() < -size || index.value() >= size) return Dim::unknown();
  return Dim::exactly(list[static_cast<size_t>(index.value() < 0 ? index.value() + size : index.value())]);
}

Dim smallest(const std::vector<int64_t>& list) {
  return list.empty() ? Dim::unknown() : Dim::exactly(*std::min_element(list.begin(), list.end()));
}

Dim largest(const std::vector<int64_t>& list) {
  return list.empty() ? Dim::unknown() : Dim::exactly(*std::max_element(list.begin(), list.end()));
}

}  // namespace halfstep
