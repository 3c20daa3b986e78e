#include "halfstep/verify/equivalence/layer_semantics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/status.h"
#include "halfstep/verify/equivalence/errors.h"

namespace halfstep::verify {
namespace {

bool is_activation(Op op) { return op.info().quant.trait == Trait::fuses_into_producer; }

/// The operand of `op` that belongs to the layer, if `op` can be between a product and the layer's result. Otherwise
/// null.
Value read_of_layer(Op op) {
  if (const Value scaled = scaled_and_moved(op)) return scaled;
  return is_activation(op) || keeps_order(op) || op.is<ops::Transpose>() || is_quantizer(op) ? op.in(0) : Value();
}

/// The path from the product before `value` to `value`. Without a product, the path starts after the first value of
/// `read`, the inputs of the layer.
Path path_to(Value value, const std::set<const detail::ValueNode*>& read, const std::string& layer) {
  Path path;
  for (Value from = value; from; from = read_of_layer(path.behind.back())) {
    const Op op = from.producer();
    const bool is_begin = read.contains(from.node()) && !path.behind.empty();
    if (op && !is_begin && weight_ports(op)) path.product = op;
    if (is_begin || path.product) {
      std::ranges::reverse(path.behind);
      return path;
    }
    if (!op) break;
    path.behind.push_back(op);
  }
  fail(errors::source_does_not_match(fmt::format("layer '{}'", layer),
                                     fmt::format("no product with a weight after '{}'", value.name()), "one"));
}

/// The parts of a layer: the coding itself, and codings that it reads and that the source model does not have.
void add_parts(const std::vector<Coding>& codings, size_t place, std::vector<const Coding*>& parts) {
  parts.push_back(&codings[place]);
  for (const size_t operand : codings[place].operands) {
    const Coding& read = codings[operand];
    if (!read.source && !read.real && !read.positions) add_parts(codings, operand, parts);
  }
}

/// The axis with extent `channels` and `run` elements after it.
size_t axis_with(const Dims& dims, int64_t channels, int64_t run) {
  size_t axis = 0;
  while (axis < dims.size() && !(dims[axis] == channels && count_elements(std::span(dims).subspan(axis + 1)) == run))
    ++axis;
  return axis;
}

/// Position of an axis at the end of the path. All extents must be static.
size_t axis_at_end(const Path& path, size_t axis, const std::string& layer) {
  for (const Op op : path.behind) {
    const Dims &from = op.in(0).dims(), &to = op.out(0).dims();
    if (op.is<ops::Transpose>()) {
      const auto perm = ops::Transpose(op.node()).perm();
      axis = static_cast<size_t>(std::ranges::find(perm, static_cast<int64_t>(axis)) - perm.begin());
    } else if (keeps_order(op)) {
      axis =
          axis < from.size() ? axis_with(to, from[axis], count_elements(std::span(from).subspan(axis + 1))) : to.size();
    }
    if (axis >= to.size())
      fail(errors::source_does_not_match(fmt::format("layer '{}'", layer),
                                         fmt::format("no axis with its channels at {}", op.where()), "one"));
  }
  return axis;
}

std::string text_of(Op op) {
  std::string text = fmt::format("{} '{}'", op.info().name, op.name());
  const char* separator = " {";
  for (const auto& [name, value] : op.attributes()) {
    text += fmt::format("{}{}: {}", separator, name, to_string(value));
    separator = ", ";
  }
  return op.attributes().empty() ? text : text + "}";
}

/// The stored numbers whose codes `part` has. Null if it is not a tensor.
const Tensor* numbers_of(const Coding& part, const Model& prepared) {
  const Op quantizer = prepared.graph.op(part.layer);
  const Value stored = quantizer.is<ops::FakeQuantize>() ? ops::FakeQuantize(quantizer.node()).x() : Value();
  return stored && stored.is_tensor() ? &prepared.tensors.at(stored.name()) : nullptr;
}

/// The result of a layer of a prepared network, before its quantizer.
Value before_quantizer(Value value) {
  const auto quantizer = value.producer<ops::FakeQuantize>();
  return quantizer ? quantizer->x() : value;
}

/// The real value of a number's code.
double rounded_real(const CodeFormat& format, double number) {
  return static_cast<double>(format.code(number / format.scale) - format.zero_point) * format.scale;
}

/// The bound for the rounding of a stored reciprocal or subtrahend, relative to the operator's result in steps of
/// `scale`. The source model has the unrounded numbers.
CodeBound rounding_bound(Op op, const Coding& part, const Model& prepared, double scale) {
  const Tensor* numbers = op.is<ops::Div, ops::Sub>() ? numbers_of(part, prepared) : nullptr;
  if (numbers == nullptr) return {};
  if (op.is<ops::Div>()) {
    if (numbers->size() != 1) return {};
    const double number = element(*numbers, 0);
    return {.relative = std::fabs(rounded_real(part.format, number) / number - 1)};
  }
  double most = 0;
  for (int64_t i = 0; i < numbers->size(); ++i) {
    const double number = element(*numbers, i);
    most = std::max(most, std::fabs(rounded_real(part.format, number) - number));
  }
  return {.absolute = {most / scale}};
}

}  // namespace

namespace {

/// Whether a part of the layer has codes of its own that the source model does not have, as the mean of a sum over
/// axes.
bool rounds_between(const std::vector<Coding>& codings, size_t place) {
  std::vector<const Coding*> parts;
  add_parts(codings, place, parts);
  return std::ranges::count_if(parts, [](const Coding* part) {
           const Trait trait = part->op.info().quant.trait;
           return !part->op.is<ops::Quantize>() && trait != Trait::preserves_range && trait != Trait::same_scale;
         }) > 1;
}

}  // namespace

Reference reference_of(const std::vector<Coding>& codings, size_t place) {
  const std::function<bool(size_t)> is_near = [&](size_t operand) {
    const Coding& part = codings[operand];
    if (part.source || part.positions) return true;
    return part.real ? !is_float(part.op.out(0).dtype()) : std::ranges::all_of(part.operands, is_near);
  };
  const Coding& layer = codings[place];
  const bool has_same_inputs = layer.source && std::ranges::all_of(layer.operands, is_near);
  const bool is_one = has_same_inputs && !rounds_between(codings, place);
  return is_one ? Reference::source : Reference::prepared;
}

LayerSemanticCheck::LayerSemanticCheck(SemanticGraphs& graphs, size_t place, Reference reference)
    : graphs_(graphs),
      place_(place),
      reference_(reference),
      out_(reference == Reference::source ? coding().source : before_quantizer(coding().prepared)),
      values_(network().graph, network().tensors) {
  if (!out_)
    fail(errors::source_does_not_match(
        fmt::format("layer '{}'", name()), "no such value",
        fmt::format("one in the source model or in network '{}'", graphs_.prepared.graph.name())));
  const Dims& dims = coding().op.out(0).dims();
  if (out_.dims() != dims)
    fail(errors::source_does_not_match(fmt::format("layer '{}'", name()),
                                       fmt::format("'{}' of {}", out_.name(), to_string(out_.dims())),
                                       fmt::format("{}, as the codes of the program", to_string(dims))));
  graphs_.covered[place_] = true;
  add_part(coding());
  add_parts_behind(coding());
  if (is_recognised(arithmetic(), graphs_.prepared.graph.op(name()))) {
    const CodeFormat& x = graphs_.codings[coding().operands[0]].format;
    const double largest =
        x.scale * static_cast<double>(std::max(x.code_max - x.zero_point, x.zero_point - x.code_min));
    bound_.add({.relative = kConstants, .absolute = {kConstants * largest / coding().format.scale}});
  }
  for (const size_t operand : coding().operands) {
    const Coding& part = graphs_.codings[operand];
    if (!value_of(part)) bound_.add(rounding_bound(arithmetic(), part, graphs_.prepared, coding().format.scale));
  }
}

Op LayerSemanticCheck::arithmetic() const {
  const Op named = network().graph.op(name());
  return named ? named : out_.producer();
}

void LayerSemanticCheck::add_parts_behind(const Coding& part) {
  for (const size_t operand : part.operands) {
    const Coding& behind = graphs_.codings[operand];
    if (!belongs(behind)) continue;
    graphs_.covered[operand] = true;
    add_part(behind);
    add_parts_behind(behind);
  }
}

void LayerSemanticCheck::add_part(const Coding& part) {
  if (part.positions) return;  // they are exact
  if (auto weights = layer_weights(graphs_.prepared, graphs_.integer, part, graphs_.codings))
    return weigh(part, std::move(*weights));
  std::vector<CodeFormat> formats;
  for (const size_t operand : part.operands) formats.push_back(graphs_.codings[operand].format);
  if (part.op.is<ops::IntegerNorm>()) return bound_.add(norm_bound(part.op, graphs_.integer.tensors));
  bound_.add(code_bound(part.op, formats, part.format, nullptr));
}

/// Adds a part with weights. If the network does not have the part's result as a value, the layer's result with another
/// shape replaces it.
void LayerSemanticCheck::weigh(const Coding& part, LayerWeights weights) {
  Value result = source_value(network().graph, graphs_.prepared.graph, weights.prepared.out(0));
  if (!result) result = out_;
  const Path path = path_to(result, values_read_by(part), name());
  WeighedLayer layer = path.product ? weighed_product(path, weights) : scaled_channels(path, part, weights);
  product_ = layer.op;
  for (const Op op : path.behind) {
    if (op != layer.op && !op.is<ops::Transpose>() && !is_activation(op))
      layer.passed.emplace(op.node(), read_of_layer(op));
  }
  const Op last = out_.producer();
  const bool slopes = last && last != product_ && last.info().attribute("alpha") != nullptr;
  const double alpha = slopes ? std::fabs(get<double>(last.attributes(), "alpha")) : 1.0;
  const CodeFormat& x = graphs_.codings[part.operands[0]].format;
  const WeightFacts facts{weights.scales, weights.bias, weights.taps(), std::max(1.0, alpha), axis_};
  bound_.add(code_bound(part.op, {x}, part.format, &facts));
  values_.set_layer(std::move(layer));
  weights_ = std::move(weights);
}

WeighedLayer LayerSemanticCheck::weighed_product(const Path& path, const LayerWeights& weights) {
  axis_ = axis_at_end(path, channel_axis(path.product), name());
  const Dims& has = path.product.in(weight_ports(path.product)->weight).dims();
  if (count_elements(has) != weights.codes.size() ||
      path.product.out(0).dims()[channel_axis(path.product)] != weights.codes.dims()[0])
    fail(errors::source_does_not_match(fmt::format("layer '{}'", name()),
                                       fmt::format("a weight of {} in {}", to_string(has), text_of(path.product)),
                                       to_string(weights.codes.dims())));
  return {path.product, {weights.floats_for(path.product)}, weights.bias, {}};
}

/// A layer without a product has one weight for each channel of the path's first input.
WeighedLayer LayerSemanticCheck::scaled_channels(const Path& path, const Coding& part, const LayerWeights& weights) {
  const Dims& dims = part.op.out(0).dims();
  const int64_t run = count_elements(std::span(dims).subspan(2));
  const Value x = read_of_layer(path.behind.front());
  axis_ = axis_at_end(path, axis_with(x.dims(), weights.codes.size(), run), name());
  return {path.behind.front(), {weights.floats()}, weights.bias, {}, x, run};
}

/// Only for the source model, because a layer of the prepared network always has a product.
std::set<const detail::ValueNode*> LayerSemanticCheck::values_read_by(const Coding& part) const {
  std::set<const detail::ValueNode*> read;
  if (reference_ == Reference::prepared) return read;
  for (const size_t operand : part.operands) {
    const Coding& behind = graphs_.codings[operand];
    if (behind.source) read.insert(behind.source.node());
    if (belongs(behind)) read.merge(values_read_by(behind));
  }
  return read;
}

void LayerSemanticCheck::check_weights() {
  if (weights_) compare_weights(*weights_, graphs_.prepared, semantics_);
}

const Numbers* LayerSemanticCheck::read_by(const Coding& part, Value value, const Run& run) const {
  for (const size_t operand : part.operands) {
    const Coding& read = graphs_.codings[operand];
    if (read.source == value) return run.read(operand);
    const Numbers* behind = belongs(read) ? read_by(read, value, run) : nullptr;
    if (behind != nullptr) return behind;
  }
  return nullptr;
}

const Numbers* LayerSemanticCheck::known(Value value, const Run& run) const {
  const Numbers* numbers =
      reference_ == Reference::source ? known_of_source(value, run) : known_of_prepared(value, run);
  if (numbers != nullptr || value.producer()) return numbers;
  const auto argument = run.arguments.find(value.name());
  return argument == run.arguments.end() ? nullptr : &argument->second;
}

/// All values except the layer's own result.
const Numbers* LayerSemanticCheck::known_of_prepared(Value value, const Run& run) const {
  for (size_t i = 0; i < graphs_.codings.size(); ++i) {
    if (i != place_ && graphs_.codings[i].prepared == value) return &run.values[i];
  }
  return nullptr;
}

/// Inputs of the layer's operator take precedence, because a value can have codes in two formats. Stored numbers only
/// use codes that the layer itself reads. As a limit, the exact number applies, even if another layer has codes for it.
const Numbers* LayerSemanticCheck::known_of_source(Value value, const Run& run) const {
  if (const Numbers* read = read_by(coding(), value, run)) return read;
  if (value.is_tensor()) return nullptr;
  for (size_t i = 0; i < graphs_.codings.size(); ++i) {
    const bool is_other = graphs_.codings[i].source == value && (value != out_ || graphs_.codings[i].real);
    if (is_other) return run.read(i);
  }
  return nullptr;
}

void LayerSemanticCheck::check(const Run& run, bool all, const SemanticOptions& options) {
  const int64_t wanted = all ? out_.dims().empty() ? 1 : count_elements(out_.dims()) : options.elements * run.samples;
  values_.begin([&](Value value) { return known(value, run); });
  const auto stream = static_cast<uint64_t>(run.first_sample) << 20U | place_;
  compare(run, spread_indices(out_.dims(), axis_, wanted, Random(options.seed, stream)));
}

void LayerSemanticCheck::compare(const Run& run, const std::vector<int64_t>& indices) {
  const std::vector<double> floats = values_.elements(out_, indices);
  const Tensor& codes = run.values[place_].tensor;
  const Dims& dims = out_.dims();
  const int64_t channels = dims.size() > axis_ ? dims[axis_] : 1;
  const int64_t after = dims.size() > axis_ ? count_elements(std::span(dims).subspan(axis_ + 1)) : 1;
  for (size_t i = 0; i < indices.size(); ++i) {
    const double steps = floats[i] / coding().format.scale;
    const auto bound = [&](double saturated) {
      return bound_.at(saturated, static_cast<size_t>(indices[i] / after % channels));
    };
    compare_code(semantics_, coding().format, steps, bound_.middle, static_cast<int64_t>(element(codes, indices[i])),
                 bound, [&] { return activation_fault(run, indices[i], floats[i]); });
  }
}

SemanticFault LayerSemanticCheck::activation_fault(const Run& run, int64_t index, double real) const {
  const Dims& dims = out_.dims();
  const auto sample_dims = std::span(dims).subspan(dims.empty() || run.whole ? 0 : 1);
  const int64_t size = count_elements(sample_dims), sample = run.first_sample + index / size;
  const Dims position = position_of(index % size, sample_dims);
  return {"activation", index % size, nhwc_index(position, sample_dims), sample, position, 0, 0, real, says(), ""};
}

std::string LayerSemanticCheck::says() const {
  const Op last = out_.producer();
  if (!last) return fmt::format("argument '{}'", out_.name());
  const std::string text = product_ && last != product_ ? text_of(product_) + ", then " + text_of(last) : text_of(last);
  return reference_ == Reference::source ? text : text + " as prepared";
}

}  // namespace halfstep::verify
