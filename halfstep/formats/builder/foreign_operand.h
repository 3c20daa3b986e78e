// Values of a foreign graph during translation.
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

/// An integer that is known, or that depends on dynamic extents and has a value at each trial.
class Element {
 public:
  Element() = default;
  Element(int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  /// Known if all trials agree.
  explicit Element(std::optional<Tried> tried);

  explicit operator bool() const { return value_.has_value(); }
  int64_t operator*() const { return *value_; }
  std::optional<Tried> tried() const;

 private:
  std::optional<int64_t> value_;
  std::optional<Tried> tried_;
};

/// An integer, a list or a matrix of integers that may depend on dynamic extents. Types: i64, i32 or bool.
struct Elements {
  std::vector<Element> values;
  bool scalar = false;
  DType dtype = DType::i64;
  int64_t columns = 0;  ///< length of the rows of a matrix, or 0 if it is no matrix

  bool known() const;
  Type type() const;
  /// Requires that all elements are known.
  Tensor tensor() const;
};

/// Absent, a value of the graph, a tensor with known contents, or a list of partly known elements.
struct Operand {
  Value value = {};
  Tensor tensor = {};
  std::optional<Elements> elements = {};
  std::string name = {};  ///< name of the tensor when it becomes part of the model
  bool lost = false;      ///< in a survey: a result of an unsupported node

  bool there() const { return value || tensor.defined() || elements || lost; }
  bool known() const { return tensor.defined(); }
  /// Throws part_missing if absent.
  Type type() const;
  const Dims dims() const { return type().dims; }
};

/// Returns the tensor as elements if it is an integer (bool included) or a short list of them.
std::optional<Elements> elements_of(const Operand& operand);

/// Stores `value`, rounded to the type. Throws number_not_in_type if an integer type cannot hold it.
void store(Tensor& tensor, int64_t index, double value);

/// Throws not_an_integer unless `value` is an integer that a double holds exactly.
int64_t integer(double value);

/// Returns a tensor with every element set to `value` by `store`.
Tensor filled(DType dtype, const Dims& dims, double value);

/// Returns integer elements, also of float tensors.
std::vector<int64_t> integers_of(const Tensor& tensor, const std::string& where);

}  // namespace halfstep::formats
