// Values of a float network in float64, as its operators define them: worked out on demand, element by element where an
// operator allows it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/verify/operators/numbers.h"
#include "halfstep/verify/operators/product_elements.h"

namespace halfstep::verify {

/// A layer whose weight and bias are others than the network says: those of codes.
struct WeighedLayer {
  Op op;                     ///< the product, or the first operator of those that only scale channels
  Numbers weight;            ///< as `op` has it
  std::vector<double> bias;  ///< by output channel; empty for none
  /// By operation behind the product that is part of weight and bias, or gives the elements that it reads in their
  /// order: what it reads of the layer.
  std::map<const detail::OpNode*, Value> passed;
  /// Where `op` is no product: what it multiplies, channel by channel, each of so many elements side by side.
  Value scaled = {};
  int64_t run = 0;
};

/// Products, and operators that work on each element by itself, give any elements of a value for themselves alone.
/// Every other operator runs whole, by its reference kernel with f64 in place of all floats. Quantizers give
/// what they read.
class RealValues {
 public:
  /// What is known of a value of the graph; null where it has to be worked out.
  using Known = std::function<const Numbers*(Value)>;

  /// Keeps references to both. All extents of `graph` are known.
  RealValues(const Graph& graph, const Tensors& contents) : graph_(graph), contents_(contents) {}
  /// Takes the place of what the graph says of these operations.
  void set_layer(WeighedLayer layer);
  /// From now on these values are known, and what was worked out before is forgotten.
  void begin(Known known);

  /// Elements of `value` at flat indices.
  std::vector<double> elements(Value value, std::span<const int64_t> indices);
  /// The sums of the magnitudes of what is added to a result of an operator with a stored weight (weight_ports).
  std::vector<double> magnitudes(Value value, std::span<const int64_t> indices);

 private:
  const Numbers& whole(Value value);
  Numbers computed(Value value);
  /// Whether `op` gives the elements that it reads, where they lie; then which.
  std::optional<Value> passed(Op op) const;
  bool is_layer(Op op) const { return layer_ && layer_->op == op; }
  const Product* product_of(Op op);
  std::vector<double> product(Op op, std::span<const int64_t> indices, bool magnitude);
  std::vector<double> layer_elements(std::span<const int64_t> indices);
  std::vector<double> scaled_elements(std::span<const int64_t> indices);
  std::vector<double> pointwise(Op op, std::span<const int64_t> indices);
  std::vector<double> broadcast(Value operand, const Dims& to, std::span<const int64_t> indices);

  const Graph& graph_;
  const Tensors& contents_;
  std::optional<WeighedLayer> layer_;
  Known known_;
  std::map<const detail::ValueNode*, Numbers> constants_, computed_;
  std::map<const detail::OpNode*, std::optional<Product>> products_;
};

}  // namespace halfstep::verify
