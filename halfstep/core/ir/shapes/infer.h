// Support for the generated inference functions: binding of extents and dtypes, rules, and messages.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "halfstep/core/ir/dim.h"
#include "halfstep/core/ir/op_info.h"

namespace halfstep {

/// A set of dtypes by its name in the records: "float", "u8 or i8".
struct TypeClass {
  std::string_view name;
  uint32_t dtypes;  ///< one bit each
  constexpr bool contains(DType dtype) const { return ((dtypes >> static_cast<uint32_t>(dtype)) & 1U) != 0; }
};
constexpr uint32_t dtype_set(std::initializer_list<DType> dtypes) {
  uint32_t bits = 0;
  for (const DType dtype : dtypes) bits |= 1U << static_cast<uint32_t>(dtype);
  return bits;
}

/// A value at an input port. `type` is null when absent, and then every check passes.
struct Operand {
  std::string_view port;
  const Type* type;
  const Dims& dims() const { return type->dims; }
};

/// An entry of an input's `dims:`. An entry made from a variable binds it if it is unknown. An entry made from a value
/// is compared with it.
class Extent {
 public:
  Extent(std::string_view text, Dim& name) : text_(text), value_(name), name_(&name) {}
  Extent(std::string_view text, const Dim& value) : text_(text), value_(value) {}
  std::string_view text() const { return text_; }
  Dim value() const { return name_ != nullptr ? *name_ : value_; }
  void bind(Dim found) const {
    if (name_ != nullptr) *name_ = found;
  }

 private:
  std::string_view text_;
  Dim value_;
  Dim* name_ = nullptr;
};

/// A part of a rule and its value, for the message. Refers to the value, because most rules hold and then the value is
/// not needed. No member is inline, because every operator creates some.
class Fact {
 public:
  using Value = std::variant<Dim, double, bool, std::string_view, const std::string*, const std::vector<int64_t>*,
                             const std::vector<double>*, const std::vector<std::string>*, const Operand*>;

  Fact(std::string_view text, Dim value);
  Fact(std::string_view text, double value);
  Fact(std::string_view text, bool value);
  /// Printed unchanged.
  Fact(std::string_view text, std::string_view value);
  /// Printed in quotes.
  Fact(std::string_view text, const std::string& value);
  Fact(std::string_view text, const std::vector<int64_t>& value);
  Fact(std::string_view text, const std::vector<double>& value);
  Fact(std::string_view text, const std::vector<std::string>& value);
  /// Prints the dims of the operand.
  Fact(std::string_view text, const Operand& value);
  std::string_view text() const { return text_; }
  const Value& value() const { return value_; }

 private:
  std::string_view text_;
  Value value_;
};

/// One run of inference. Every failure is an Error with operator and place of the site.
class Inference {
 public:
  /// Throws if the number of operands does not match the operator.
  explicit Inference(const OpSite& site);

  /// Returns the operand of a port, which must be present.
  Operand required(int port) const;
  Operand optional(int port) const;
  /// Returns the operands of the variadic port, which is the last one.
  std::vector<Operand> variadic() const;

  Dim integer(std::string_view attribute) const { return Dim::exactly(get<int64_t>(site_.attributes, attribute)); }
  const std::vector<int64_t>& integers(std::string_view attribute) const {
    return get<std::vector<int64_t>>(site_.attributes, attribute);
  }

  /// Returns the operand's dtype. Throws if the class does not contain it.
  DType bind_dtype(const Operand& operand, const TypeClass& type_class) const;
  /// Returns the common dtype of all values. Throws if there is none.
  DType bind_dtype(const std::vector<Operand>& operands, const TypeClass& type_class) const;
  void expect_class(const Operand& operand, const TypeClass& type_class) const;
  void expect_dtype(const Operand& operand, DType dtype) const;
  /// Throws unless the dtypes are equal.
  void expect_dtype(const Operand& operand, const Operand& other) const;
  /// Throws unless the known dims are equal.
  void expect_dims(const Operand& operand, const Operand& other) const;
  /// Throws unless the dims equal `dims`, the result of a shape function.
  void expect_dims(const Operand& operand, std::string_view text, const Dims& dims) const;
  /// Throws unless the operand has these extents. With `open` it may have further ones.
  void bind(const Operand& operand, std::initializer_list<Extent> extents, bool open = false) const;

  void rule(std::string_view label, std::string_view text, Truth holds, std::initializer_list<Fact> facts) const;

  /// Returns the dims of an output. Throws for a negative extent.
  Dims dims(std::string_view port, std::initializer_list<Dim> extents) const;
  /// Returns the dtype named by a string attribute.
  DType named_dtype(std::string_view attribute) const;
  /// Returns the dtype named by a string attribute, or `otherwise` if the attribute is empty.
  DType named_dtype_or(std::string_view attribute, DType otherwise) const;
  /// Returns the type of the operand. For an absent operand, returns a placeholder for an output that is also absent.
  static Type like(const Operand& operand);

 private:
  [[noreturn]] void reject_dtype(std::string_view operand, std::string_view found, const std::string& expected) const;
  [[noreturn]] void reject_dims(const std::string& operand, const std::string& found,
                                const std::string& expected) const;

  const OpSite& site_;
};

// Functions of the records' expressions. An absent operand or a position outside a list yields unknown.
Dim rank_of(const Operand& operand);
/// A negative axis counts from the end.
Dim extent_of(const Operand& operand, Dim axis);
Dim count_of(const Operand& operand);
Truth has_dtype(const Operand& operand, DType dtype);
Truth same_dtype(const Operand& a, const Operand& b);
std::string_view dtype_name(const Operand& operand);

/// Range of an integer type, by its name.
Dim lowest_of(std::string_view dtype);
Dim highest_of(std::string_view dtype);
/// Returns `a` if the condition holds, `b` if it does not, unknown if the condition is unknown.
Dim choose(Truth condition, Dim a, Dim b);
/// Returns `otherwise` for an absent operand.
DType dtype_or(const Operand& operand, DType otherwise);
/// Whether the parameters match the rows (columns) of a matrix or a batch of matrices. Valid are one element, a list
/// with one element per row (column), or the shape of the matrix with 1 column (row).
Truth per_row(const Operand& parameters, const Operand& matrix);
Truth per_column(const Operand& parameters, const Operand& matrix);
Dim element(const std::vector<int64_t>& list, Dim index);
Dim smallest(const std::vector<int64_t>& list);
Dim largest(const std::vector<int64_t>& list);
template <class T>
Dim length_of(const std::vector<T>& list) {
  return Dim::exactly(static_cast<int64_t>(list.size()));
}

}  // namespace halfstep
