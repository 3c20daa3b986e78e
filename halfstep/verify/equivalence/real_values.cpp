#include "halfstep/verify/equivalence/real_values.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/compile/evaluate_operation.h"
#include "halfstep/verify/equivalence/errors.h"

namespace halfstep::verify {
namespace {

/// Whether each element of the result only depends on the elements at the same position.
bool is_pointwise(Op op) { return op.info().elementwise && is_float(op.out(0).dtype()); }

std::vector<Tensor> results_of_scan(Op op, const std::vector<Tensor>& operands, const Tensors& contents);

/// The results of `op` on these operands, independent of the operand types in its graph. `contents` has the tensors of
/// regions.
std::vector<Tensor> results_of(Op op, const std::vector<Tensor>& operands, const Tensors& contents) {
  if (op.is<ops::Scan>()) return results_of_scan(op, operands, contents);
  if (!op.regions().empty()) fail(errors::layer_not_evaluated_alone(op.where(), op.info().name));
  Graph graph;
  std::vector<Value> arguments;
  for (const Tensor& operand : operands)
    arguments.push_back(operand.defined() ? graph.add_argument(graph.unique_name("x"), operand.type()) : Value());
  const Op single = graph.insert({&op.info(), arguments, op.attributes(), op.name(), op.location()});
  return compiler::evaluate(single, operands);
}

/// Results of a region on its arguments, operator by operator.
std::vector<Tensor> results_of_region(const Block& region, const std::vector<Tensor>& arguments,
                                      const Tensors& contents) {
  std::map<const detail::ValueNode*, Tensor> values;
  for (size_t i = 0; i < arguments.size(); ++i) values[region.arguments()[i].node()] = arguments[i];
  const auto read = [&](Value value) {
    if (!value) return Tensor();
    return value.is_tensor() ? Numbers{contents.at(value.name())}.operand() : values.at(value.node());
  };
  for (const Op op : region.ops()) {
    std::vector<Tensor> operands;
    for (const Value operand : op.operands()) operands.push_back(read(operand));
    const std::vector<Tensor> results = results_of(op, operands, contents);
    for (size_t i = 0; i < results.size(); ++i) values[op.results()[i].node()] = results[i];
  }
  std::vector<Tensor> outputs;
  for (const Value output : region.outputs()) outputs.push_back(read(output));
  return outputs;
}

/// Element `i` of the first axis.
Tensor row_of(const Tensor& stacked, int64_t i) {
  Tensor row(stacked.dtype(), Dims(stacked.dims().begin() + 1, stacked.dims().end()));
  std::memcpy(row.raw(), stacked.raw() + i * static_cast<int64_t>(row.bytes()), row.bytes());
  return row;
}

std::vector<Tensor> results_of_scan(Op op, const std::vector<Tensor>& operands, const Tensors& contents) {
  const ops::Scan scan(op.node());
  const auto states = static_cast<size_t>(scan.states()), first_captured = states + static_cast<size_t>(scan.scanned());
  const int64_t count = operands.at(states).dims()[0];
  std::vector<Tensor> results(operands.begin(), operands.begin() + scan.states());
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Tensor> arguments(results.begin(), results.begin() + scan.states());
    for (size_t s = states; s < operands.size(); ++s)
      arguments.push_back(s < first_captured ? row_of(operands[s], i) : operands[s]);
    const std::vector<Tensor> made = results_of_region(*op.regions()[0], arguments, contents);
    for (size_t r = 0; r < made.size(); ++r) {
      if (r < states) {
        results[r] = made[r];
        continue;
      }
      if (i == 0) {
        Dims dims = made[r].dims();
        dims.insert(dims.begin(), count);
        results.emplace_back(made[r].dtype(), dims);
      }
      std::memcpy(results[r].raw() + i * static_cast<int64_t>(made[r].bytes()), made[r].raw(), made[r].bytes());
    }
  }
  return results;
}

/// Whether the operator multiplies its product by a number.
bool is_scaled(Op op) { return op.is<ops::Gemm>() && ops::Gemm(op.node()).alpha() != 1; }

std::vector<int64_t> all_indices(const Dims& dims) {
  std::vector<int64_t> all(static_cast<size_t>(count_elements(dims)));
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}

/// Flat index in an operand of shape `from` that is broadcast to `to`.
int64_t source_index(int64_t index, const Dims& to, const Dims& from) {
  int64_t source = 0, stride = 1;
  for (size_t axis = to.size(); axis-- > 0;) {
    const int64_t at = index % to[axis];
    index /= to[axis];
    if (axis + from.size() < to.size()) continue;
    const int64_t extent = from[axis + from.size() - to.size()];
    source += extent == 1 ? 0 : at * stride;
    stride *= extent;
  }
  return source;
}

}  // namespace

void RealValues::set_layer(WeighedLayer layer) {
  layer_ = std::move(layer);
  products_.clear();
}

void RealValues::begin(Known known) {
  known_ = std::move(known);
  computed_.clear();
}

std::vector<double> RealValues::elements(Value value, std::span<const int64_t> indices) {
  std::vector<double> results(indices.size());
  const Op op = value.producer();
  const bool direct = !op || known_(value) != nullptr;
  if (!direct) {
    if (const auto read = passed(op)) return elements(*read, indices);
    if (is_layer(op)) return layer_elements(indices);
    if (product_of(op) != nullptr) return product(op, indices, false);
    if (is_pointwise(op)) return pointwise(op, indices);
  }
  whole(value).read(indices, results);
  return results;
}

std::vector<double> RealValues::magnitudes(Value value, std::span<const int64_t> indices) {
  const Op op = value.producer();
  HS_CHECK(op && weight_ports(op));
  if (product_of(op) != nullptr) return product(op, indices, true);
  std::vector<Tensor> operands;
  for (const Value operand : op.operands()) {
    operands.push_back(operand ? whole(operand).operand().clone() : Tensor());
    if (!operand || !is_float(operand.dtype())) continue;
    for (double& real : operands.back().data<double>()) real = std::fabs(real);
  }
  std::vector<double> results(indices.size());
  Numbers{results_of(op, operands, contents_).front()}.read(indices, results);
  for (double& real : results) real = std::fabs(real);
  return results;
}

const Numbers& RealValues::whole(Value value) {
  if (const Numbers* numbers = known_(value)) return *numbers;
  if (value.is_tensor()) {
    const auto found = constants_.find(value.node());
    if (found != constants_.end()) return found->second;
    return constants_[value.node()] = {contents_.at(value.name())};
  }
  if (!value.producer())
    fail(errors::semantic_check_incomplete(fmt::format("network '{}'", graph_.name()),
                                           fmt::format("values of argument '{}'", value.name())));
  const auto found = computed_.find(value.node());
  if (found != computed_.end()) return found->second;
  return computed_[value.node()] = computed(value);
}

std::optional<Value> RealValues::passed(Op op) const {
  if (is_quantizer(op)) return op.in(0);
  if (!layer_) return std::nullopt;
  const auto found = layer_->passed.find(op.node());
  return found == layer_->passed.end() ? std::nullopt : std::optional(found->second);
}

Numbers RealValues::computed(Value value) {
  const Op op = value.producer();
  if (passed(op) || is_layer(op) || product_of(op) != nullptr || is_pointwise(op)) {
    const std::vector<double> floats = elements(value, all_indices(value.dims()));
    return {Tensor::of<double>(DType::f64, value.dims(), floats)};
  }
  std::vector<Tensor> operands;
  for (const Value operand : op.operands()) operands.push_back(operand ? whole(operand).operand() : Tensor());
  const auto results = results_of(op, operands, contents_);
  size_t place = 0;
  for (const Value result : op.results()) {
    if (result == value) break;
    ++place;
  }
  return {results.at(place)};
}

const Product* RealValues::product_of(Op op) {
  const auto known = products_.find(op.node());
  if (known != products_.end()) return known->second ? &*known->second : nullptr;
  auto& product = products_[op.node()];
  const auto ports = weight_ports(op);
  if (ports && (is_layer(op) || !is_scaled(op)))
    product = Product::of(op, is_layer(op) ? layer_->weight : whole(op.in(ports->weight)));
  return product ? &*product : nullptr;
}

std::vector<double> RealValues::product(Op op, std::span<const int64_t> indices, bool magnitude) {
  std::vector<double> results = product_of(op)->elements(whole(op.in(0)), indices, magnitude);
  const int port = weight_ports(op)->bias;
  const Value bias = port < 0 ? Value() : op.in(port);
  if (!bias) return results;
  const Dims& dims = op.out(0).dims();
  // The bias of a convolution lies on its channel axis. The bias of a matrix product is broadcast from the last axis.
  Dims along = bias.dims();
  if (channel_axis(op) + 1 < dims.size()) along.resize(dims.size() - channel_axis(op), 1);
  std::vector<int64_t> places(indices.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = source_index(indices[i], dims, along);
  const std::vector<double> added = elements(bias, places);
  const double factor = op.info().attribute("beta") != nullptr ? get<double>(op.attributes(), "beta") : 1.0;
  for (size_t i = 0; i < results.size(); ++i)
    results[i] += magnitude ? std::fabs(added[i] * factor) : added[i] * factor;
  return results;
}

std::vector<double> RealValues::layer_elements(std::span<const int64_t> indices) {
  const WeighedLayer& layer = *layer_;
  if (layer.scaled) return scaled_elements(indices);
  const Dims& dims = layer.op.out(0).dims();
  const size_t axis = channel_axis(layer.op);
  std::vector<double> results = product_of(layer.op)->elements(whole(layer.op.in(0)), indices);
  if (layer.bias.empty()) return results;
  const int64_t run = count_elements(std::span(dims).subspan(axis + 1));
  for (size_t i = 0; i < results.size(); ++i)
    results[i] += layer.bias[static_cast<size_t>(indices[i] / run % dims[axis])];
  return results;
}

std::vector<double> RealValues::scaled_elements(std::span<const int64_t> indices) {
  const WeighedLayer& layer = *layer_;
  std::vector<double> results = elements(layer.scaled, indices);
  const auto factors = layer.weight.tensor.data<double>();
  for (size_t i = 0; i < results.size(); ++i) {
    const auto channel = static_cast<size_t>(indices[i] / layer.run) % factors.size();
    results[i] = results[i] * factors[channel] + (layer.bias.empty() ? 0.0 : layer.bias[channel]);
  }
  return results;
}

/// Runs the operator on lists of the elements that it needs. Tensors with one element keep their shape.
std::vector<double> RealValues::pointwise(Op op, std::span<const int64_t> indices) {
  std::vector<Tensor> operands;
  for (const Value operand : op.operands()) {
    operands.emplace_back();
    if (!operand) continue;
    if (operand.is_tensor() && count_elements(operand.dims()) == 1) {
      operands.back() = whole(operand).operand();
      continue;
    }
    const std::vector<double> floats = broadcast(operand, op.out(0).dims(), indices);
    operands.back() = Tensor::of<double>(DType::f64, {static_cast<int64_t>(floats.size())}, floats);
  }
  const Tensor result = results_of(op, operands, contents_).front();
  const auto floats = result.data<double>();
  return {floats.begin(), floats.end()};
}

std::vector<double> RealValues::broadcast(Value operand, const Dims& to, std::span<const int64_t> indices) {
  if (operand.dims() == to) return elements(operand, indices);
  std::vector<int64_t> places(indices.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = source_index(indices[i], to, operand.dims());
  return elements(operand, places);
}

}  // namespace halfstep::verify
