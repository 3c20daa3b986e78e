// What a name of a foreign graph stands for while it is translated.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/graph.h"
#include "halfstep/formats/builder/trials.h"

namespace halfstep::formats {

/// A whole number, or one that depends on open extents and what it comes to where these are tried.
class Element {
 public:
  Element() = default;
  Element(int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  /// Known where the tries are all the same.
  explicit Element(std::optional<Tried> tried);

  explicit operator bool() const { return value_.has_value(); }
  int64_t operator*() const { return *value_; }
  std::optional<Tried> tried() const;

 private:
  std::optional<int64_t> value_;
  std::optional<Tried> tried_;
};

/// A whole number, or a list of them, of which some may depend on open extents; i64, i32 or bool.
struct Elements {
  std::vector<Element> values;
  bool scalar = false;
  DType dtype = DType::i64;

  bool known() const;
  Type type() const;
  /// All must be known.
  Tensor tensor() const;
};

/// Nothing, a value of our graph, a tensor whose contents are known, or elements of which some are known.
struct Operand {
  Value value = {};
  Tensor tensor = {};
  std::optional<Elements> elements = {};
  std::string name = {};  ///< of a tensor: what it is called when it becomes part of the model
  bool lost = false;      ///< of a survey: a result of what is not supported

  bool there() const { return value || tensor.defined() || elements || lost; }
  bool known() const { return tensor.defined(); }
  /// Throws part_missing for nothing.
  Type type() const;
  const Dims dims() const { return type().dims; }
};

/// The tensor as elements where it is a short list of whole numbers (bool included), or one of them.
std::optional<Elements> elements_of(const Operand& operand);

/// Stores `value`, rounded to the type; throws number_not_in_type where an integer type cannot hold it.
void store(Tensor& tensor, int64_t index, double value);

/// Throws not_an_integer for what is no whole number that a double has exactly.
int64_t whole_number(double value);

/// Every element is `value`, as `store` stores it.
Tensor filled(DType dtype, const Dims& dims, double value);

/// Whole numbers, of floats too.
std::vector<int64_t> integers_of(const Tensor& tensor, const std::string& where);

}  // namespace halfstep::formats
