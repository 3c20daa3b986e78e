#include "halfstep/tune/repair/layers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/metadata/learned_quantizer.h"
#include "halfstep/core/ir/metadata/normalization.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/learned_parts.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/passes/quantized/training_form.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/tune/repair/errors.h"

namespace halfstep::repair {
namespace {

/// Number of operators that compute with a tensor, directly or through its quantizers.
int64_t readers_of(Value tensor) {
  int64_t count = 0;
  for (const auto& [user, operand] : tensor.uses()) {
    if (passes::has_trait(user, Trait::observer)) continue;
    count += user.is<ops::FakeQuantize>() ? std::ssize(user.out(0).uses()) : 1;
  }
  return count;
}

/// The reason why the bias of a layer with quantized weights cannot be corrected, "" if it can.
std::string why_not_corrected(Op layer, Value weight) {
  const QuantInfo& quant = layer.info().quant;
  if (!weight.is_tensor()) return "computed weights";
  if (readers_of(weight) != 1) return "shared weights";
  const Value bias = quant.bias < 0 ? Value() : layer.in(quant.bias);
  if (!bias) return "no bias";
  if (!bias.is_tensor()) return "computed bias";
  return readers_of(bias) != 1 ? "shared bias" : "";
}

/// Accumulates moments of one value.
struct Sums {
  size_t axis;
  std::vector<double> sum, squares, largest;
  int64_t count = 0;

  bool add(const Tensor& values) {
    const Dims& dims = values.dims();
    const auto channels = static_cast<size_t>(dims[axis]);
    size_t run = 1;
    for (size_t i = axis + 1; i < dims.size(); ++i) run *= static_cast<size_t>(dims[i]);
    sum.resize(channels), squares.resize(channels), largest.resize(channels);
    const auto elements = values.data<float>();
    count += static_cast<int64_t>(elements.size() / channels);
    bool finite = true;
    for (size_t row = 0; row * run < elements.size(); ++row) {
      const size_t c = row % channels;
      double total = 0, of_squares = 0, most = 0;
      for (const float element : elements.subspan(row * run, run)) {
        const double value{element};
        total += value;
        of_squares += value * value;
        most = std::max(most, std::fabs(value));
      }
      finite = finite && std::isfinite(of_squares);
      sum[c] += total;
      squares[c] += of_squares;
      largest[c] = std::max(largest[c], most);
    }
    return finite;
  }

  Moments moments() const {
    Moments result{sum, squares, largest};
    for (size_t c = 0; c < sum.size(); ++c) {
      result.mean[c] /= static_cast<double>(count);
      result.variance[c] = std::max(0.0, squares[c] / static_cast<double>(count) - result.mean[c] * result.mean[c]);
    }
    return result;
  }
};

}  // namespace

Model simulated(const Model& prepared) {
  Model form = clone(prepared);
  passes::set_mode(form.graph, passes::Mode::evaluation);
  passes::close_learned_parts(form);
  passes::open_levels(form);
  return form;
}

Value in_float(Value value) {
  const auto quantizer = value.producer<ops::FakeQuantize>();
  return quantizer ? quantizer->x() : value;
}

std::vector<Layer> layers_of(const Model& prepared) {
  std::vector<Layer> layers;
  for (const Op op : prepared.graph.ops()) {
    const QuantInfo& quant = op.info().quant;
    if (quant.weight < 0) continue;
    const Value weight = op.in(quant.weight);
    const auto quantizer = weight.producer<ops::FakeQuantize>();
    const Value tensor = quantizer ? quantizer->x() : weight;
    if (!tensor.is_tensor() || tensor.dtype() != DType::f32 || readers_of(tensor) != 1) continue;
    if (count_elements(tensor.dims()) == 0) continue;
    Value bias = quant.bias < 0 ? Value() : op.in(quant.bias);
    if (bias && (!bias.is_tensor() || readers_of(bias) != 1)) bias = {};
    layers.push_back({op, tensor, bias, quantizer.value_or(ops::FakeQuantize())});
  }
  return layers;
}

std::vector<Layer> layers_with_bias(const Model& prepared) {
  std::vector<Layer> layers = layers_of(prepared);
  std::erase_if(layers, [](const Layer& layer) { return !layer.quantizer || !layer.bias; });
  return layers;
}

std::string left_out(const Model& prepared) {
  std::map<std::string, std::vector<std::string>> layers;  // by reason
  for (const Op op : prepared.graph.all_ops()) {
    if (op.info().quant.weight < 0) continue;
    const auto quantizer = op.in(op.info().quant.weight).producer<ops::FakeQuantize>();
    if (!quantizer) continue;  // float layer
    const std::string reason = is_in_region(op) ? "inside branches and loops" : why_not_corrected(op, quantizer->x());
    if (!reason.empty()) layers[reason].push_back(op.name());
  }
  std::vector<std::string> parts;
  for (const auto& [reason, names] : layers) parts.push_back(fmt::format("{} ({})", fmt::join(names, ", "), reason));
  return parts.empty() ? "" : fmt::format("; left out: {}", fmt::join(parts, "; "));
}

std::string left_inside(const Model& prepared) {
  std::vector<std::string> holders;
  for (const auto& quantizer : prepared.graph.all<ops::FakeQuantize>()) {
    if (!is_in_region(quantizer)) continue;
    const std::string path = holders_of(quantizer);
    std::string outermost = path.substr(0, path.find(": "));
    if (std::ranges::find(holders, outermost) == holders.end()) holders.push_back(std::move(outermost));
  }
  return holders.empty() ? "" : fmt::format("; left out: layers inside {}", fmt::join(holders, ", "));
}

std::string why_weights_stay(const Model& prepared) {
  if (!prepared.metadata.normalizations.empty())
    return "batch norms are kept for training, and recompute the weights; quantize with folded batch norms";
  const auto& all = prepared.metadata.learned_quantizers;
  const auto made = std::ranges::find_if(all, [](const LearnedQuantizer& one) { return !one.raw.empty(); });
  if (made == all.end()) return {};
  return fmt::format("quantizers of kind {} recompute the weights; train the network instead",
                     traits_of(made->kind).name);
}

std::span<float> own_floats(Model& model, const std::string& tensor) {
  return passes::own_contents(model, tensor).data<float>();
}

namespace {

/// Makes these values the outputs of the model. A fetch by name could select an output of that name instead. For a
/// padded layer this output is only a part of the value.
Model giving(Model model, const std::vector<std::string>& names) {
  std::vector<Value> values;
  for (const std::string& name : names) {
    const Value value = model.graph.value(name);
    values.push_back(value ? value : model.graph.tensor(name));
  }
  model.graph.set_outputs(std::move(values), names);
  return model;
}

}  // namespace

std::map<std::string, Moments> moments_of(const Model& model, const std::vector<Watched>& values,
                                          const data::Samples& samples, ThreadPool& pool) {
  constexpr int64_t kAtOnce = 32;
  std::map<std::string, Sums> sums;
  std::vector<std::string> fetch;
  for (const Watched& one : values) {
    if (sums.emplace(one.value, Sums{one.axis, {}, {}, {}}).second) fetch.push_back(one.value);
  }
  train::BatchRunner runner(giving(model, fetch), {}, pool);
  const int64_t batch = std::min(kAtOnce, data::evaluation_batch(model, samples));
  const int64_t size = data::batch_of(model, batch), end = data::usable(model, samples.size());
  for (int64_t begin = 0; begin < end; begin += size) {
    const Tensors found = runner.run(samples.inputs(begin, std::min(size, end - begin)));
    for (const std::string& name : fetch) {
      if (!sums.at(name).add(found.at(name)))
        fail(errors::value_not_finite(model.graph.name(), name, begin, std::min(begin + size, end) - 1,
                                      samples.data->name));
    }
  }
  std::map<std::string, Moments> moments;
  for (const auto& [name, of_value] : sums) moments.emplace(name, of_value.moments());
  return moments;
}

}  // namespace halfstep::repair
