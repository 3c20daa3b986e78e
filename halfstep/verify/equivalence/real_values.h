// Computes values of a float network in float64 by the definitions of its operators. Computes them on demand, and
// single elements if the operator allows it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/verify/operators/product_elements.h"
#include "halfstep/verify/operators/tensor_numbers.h"

namespace halfstep::verify {

/// A layer whose weight and bias replace those of the network, for example the real values of codes.
struct WeighedLayer {
  Op op;                     ///< the product, or the first operator of a layer that only scales channels
  Numbers weight;            ///< in the layout of `op`
  std::vector<double> bias;  ///< by output channel, empty without a bias
  /// Operations after the product that are already part of weight and bias, or that keep elements in order. Maps each
  /// to the operand that belongs to the layer.
  std::map<const detail::OpNode*, Value> passed;
  /// If `op` is not a product: the value that it scales by channel. Each channel has `run` consecutive elements.
  Value scaled = {};
  int64_t run = 0;
};

/// Products and pointwise operators compute only the requested elements of a value. Every other operator computes the
/// whole value, with its reference kernel and f64 in place of all floats. Quantizers return their input.
class RealValues {
 public:
  /// Returns the known numbers of a value of the graph, or null if it must be computed.
  using Known = std::function<const Numbers*(Value)>;

  /// Keeps references to both arguments. All extents of `graph` must be static.
  RealValues(const Graph& graph, const Tensors& contents) : graph_(graph), contents_(contents) {}
  /// Replaces the weight and bias of these operations.
  void set_layer(WeighedLayer layer);
  /// Sets the known values, and discards computed ones.
  void begin(Known known);

  /// Elements of `value` at flat indices.
  std::vector<double> elements(Value value, std::span<const int64_t> indices);
  /// For results of an operator with a stored weight (weight_ports): the sums of the magnitudes of all terms.
  std::vector<double> magnitudes(Value value, std::span<const int64_t> indices);

 private:
  const Numbers& whole(Value value);
  Numbers computed(Value value);
  /// The operand of `op` whose elements it returns in the same order, if `op` is a quantizer or already part of the
  /// layer.
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
