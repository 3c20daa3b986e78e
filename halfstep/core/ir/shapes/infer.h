// What the generated inference functions are written with: binding of extents and dtypes, rules, and their messages.
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

/// A set of dtypes as the records name it: "float", "u8 or i8".
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

/// A value at an input port; `type` is null when it is absent, and then every check passes.
struct Operand {
  std::string_view port;
  const Type* type;
  const Dims& dims() const { return type->dims; }
};

/// An entry of an input's `dims:`. One made from a variable binds it while it is unknown; one made from a value is
/// compared with.
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

/// A part of a rule and its value, for the message. It refers to the value, since most rules hold and then nobody reads
/// it. Nothing is inline: every operator makes some.
class Fact {
 public:
  using Value = std::variant<Dim, double, bool, std::string_view, const std::string*, const std::vector<int64_t>*,
                             const std::vector<double>*, const std::vector<std::string>*, const Operand*>;

  Fact(std::string_view text, Dim value);
  Fact(std::string_view text, double value);
  Fact(std::string_view text, bool value);
  /// Printed as it is.
  Fact(std::string_view text, std::string_view value);
  /// Printed between quotes.
  Fact(std::string_view text, const std::string& value);
  Fact(std::string_view text, const std::vector<int64_t>& value);
  Fact(std::string_view text, const std::vector<double>& value);
  Fact(std::string_view text, const std::vector<std::string>& value);
  /// The dims of the operand.
  Fact(std::string_view text, const Operand& value);
  std::string_view text() const { return text_; }
  const Value& value() const { return value_; }

 private:
  std::string_view text_;
  Value value_;
};

/// One run of inference. Every failure is an Error with the operator and the place of the site.
class Inference {
 public:
  /// Throws when the number of operands does not fit the operator.
  explicit Inference(const OpSite& site);

  /// The operand of a port that must be there.
  Operand required(int port) const;
  Operand optional(int port) const;
  /// The operands of the variadic port, the last one.
  std::vector<Operand> variadic() const;

  Dim integer(std::string_view attribute) const { return Dim::exactly(get<int64_t>(site_.attributes, attribute)); }
  const std::vector<int64_t>& integers(std::string_view attribute) const {
    return get<std::vector<int64_t>>(site_.attributes, attribute);
  }

  /// The operand's dtype, which must be in the class.
  DType bind_dtype(const Operand& operand, const TypeClass& type_class) const;
  /// The dtype that all values have; throws when there is none.
  DType bind_dtype(const std::vector<Operand>& operands, const TypeClass& type_class) const;
  void expect_class(const Operand& operand, const TypeClass& type_class) const;
  void expect_dtype(const Operand& operand, DType dtype) const;
  /// The same dtype.
  void expect_dtype(const Operand& operand, const Operand& other) const;
  /// The same dims, as far as known.
  void expect_dims(const Operand& operand, const Operand& other) const;
  /// The dims that a shape function gives.
  void expect_dims(const Operand& operand, std::string_view text, const Dims& dims) const;
  /// The operand has these extents, and with `open` perhaps more.
  void bind(const Operand& operand, std::initializer_list<Extent> extents, bool open = false) const;

  void rule(std::string_view label, std::string_view text, Truth holds, std::initializer_list<Fact> facts) const;

  /// Dims of an output; an extent below zero is an error.
  Dims dims(std::string_view port, std::initializer_list<Dim> extents) const;
  /// The dtype that a string attribute names.
  DType named_dtype(std::string_view attribute) const;
  /// The same; `otherwise` where the attribute is empty.
  DType named_dtype_or(std::string_view attribute, DType otherwise) const;
  /// The type of the operand; of an absent one, a placeholder for an output that is absent too.
  static Type like(const Operand& operand);

 private:
  [[noreturn]] void reject_dtype(std::string_view operand, std::string_view found, const std::string& expected) const;
  [[noreturn]] void reject_dims(const std::string& operand, const std::string& found,
                                const std::string& expected) const;

  const OpSite& site_;
};

// Functions of the records' expressions. What an absent operand or a position outside the list would give is unknown.
Dim rank_of(const Operand& operand);
/// A negative axis counts from the end.
Dim extent_of(const Operand& operand, Dim axis);
Dim count_of(const Operand& operand);
Truth has_dtype(const Operand& operand, DType dtype);
Truth same_dtype(const Operand& a, const Operand& b);
std::string_view dtype_name(const Operand& operand);

/// The range of a type of whole numbers, by its name.
Dim lowest_of(std::string_view dtype);
Dim highest_of(std::string_view dtype);
/// `a` where the condition holds, `b` where it does not, unknown where nobody knows.
Dim choose(Truth condition, Dim a, Dim b);
/// `otherwise` for an absent operand.
DType dtype_or(const Operand& operand, DType otherwise);
/// Whether the parameters suit the rows (columns) of a matrix, or of a batch of them: one element, a list of one for
/// each, or the matrix's own extents with 1 in place of its columns (rows).
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
