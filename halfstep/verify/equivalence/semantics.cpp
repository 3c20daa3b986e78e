#include "halfstep/verify/equivalence/semantics.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "halfstep/core/base/status.h"
#include "halfstep/core/machine/throwing_tasks.h"
#include "halfstep/passes/graph/settle_extents.h"
#include "halfstep/verify/equivalence/compared_programs.h"
#include "halfstep/verify/equivalence/errors.h"
#include "halfstep/verify/equivalence/layer_semantics.h"
#include "halfstep/verify/operators/product_elements.h"

namespace halfstep::verify {
namespace {

void add(Semantics& to, const Semantics& more) {
  to.compared += more.compared;
  to.near_ties += more.near_ties;
  to.beyond += more.beyond;
  to.largest = std::max(to.largest, more.largest);
  if (!to.first) to.first = more.first;
}

/// Whether a product has the tensor as weight or bias. The check takes the weights and biases of layers from the
/// program's codes and the prepared network, because layers are folded.
bool is_weighed(Value tensor) {
  return std::ranges::any_of(tensor.uses(), [](const auto& use) {
    const auto ports = weight_ports(use.first);
    return ports && (use.second == ports->weight || use.second == ports->bias);
  });
}

/// Copies trained contents of parameters that are not weights, such as those of norms.
void take_trained(Model& source, const Tensors& prepared) {
  for (const Value tensor : source.graph.tensors()) {
    const auto trained = prepared.find(tensor.name());
    if (tensor.role() != Role::parameter || trained == prepared.end() || is_weighed(tensor)) continue;
    const Tensor& contents = trained->second;
    if (contents.dtype() == tensor.dtype() && contents.size() == count_elements(tensor.dims()))
      source.tensors.insert_or_assign(tensor.name(), contents.reshaped(tensor.dims()));
  }
}

/// Removes clips without finite limits. They have no effect, and prepared networks do not have them. Keeps a clip if
/// the prepared network has its name for the preceding operator, because this name identifies the value.
void take_out_open_clips(Model& source, const Graph& prepared) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const auto is_open = [&](Value limit, float sign) {
    if (!limit) return true;
    return limit.is_tensor() && limit.dtype() == DType::f32 &&
           std::ranges::all_of(std::as_const(source.tensors.at(limit.name())).data<float>(),
                               [&](float number) { return sign * number >= kLargest; });
  };
  const std::vector<Value> outputs = source.graph.outputs();
  for (const ops::Clip& clip : source.graph.body().all<ops::Clip>()) {
    const bool is_inside = std::ranges::find(outputs, clip.out()) == outputs.end();
    if (!is_inside || prepared.op(clip.name()) || !is_open(clip.lowest(), -1) || !is_open(clip.highest(), 1)) continue;
    clip.out().replace_all_uses_with(clip.x());
    source.graph.erase(clip);
  }
}

/// Values that the program compares to find hidden elements, before operators that move elements.
std::set<const detail::ValueNode*> compared_values(const Graph& integer) {
  std::set<const detail::ValueNode*> compared;
  for (const auto& comparison : integer.all<ops::LessOrEqual>()) {
    Value value = comparison.a();
    for (Op op = value.producer(); op && op.info().quant.trait == Trait::preserves_range; op = value.producer())
      value = op.in(0);
    compared.insert(value.node());
  }
  return compared;
}

/// The real values of codes, but with the number from `hidden` where a mask hides the element, because masks read it
/// there. Nothing if no element is hidden.
template <class Hidden>
std::optional<Numbers> with_hidden(const Numbers& codes, Hidden hidden) {
  Numbers mask{codes.operand()};
  const auto numbers = mask.tensor.data<double>();
  bool any = false;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const std::optional<double> number = hidden(i);
    any = any || number;
    numbers[i] = number.value_or(numbers[i]);
  }
  return any ? std::optional(mask) : std::nullopt;
}

/// Whether only masked sums read this logarithm. The masks exclude log(0), which has no code.
bool is_log_of_a_mask(const Coding& coding) {
  const Op quantizer = coding.prepared ? coding.prepared.producer() : Op();
  if (coding.operands.size() != 1 || !is_quantizer(quantizer)) return false;
  const auto uses = coding.op.out(0).uses();
  return quantizer.in(0).producer().is<ops::Log>() && !uses.empty() &&
         std::ranges::all_of(uses, [](const auto& use) { return use.first.template is<ops::MaskFill>(); });
}

class SemanticCheck {
 public:
  SemanticCheck(const Model& prepared, const Model& integer, const Tensors& inputs)
      : graphs_{sized_for(prepared, inputs), integer_for(integer, inputs), source_for(prepared, inputs)},
        program_(start(inputs)) {
    add_layers(Reference::source);
    add_layers(Reference::prepared);
  }

  void check_weights() {
    for (const auto& layer : layers_) layer->check_weights();
  }

  void run(const Tensors& inputs, int64_t first_sample, int64_t samples, const SemanticOptions& options,
           ThreadPool& pool) {
    Run run{{}, {}, {}, first_sample, samples, options.whole};
    const Tensors values = program_.run(inputs, pool);
    for (const Coding& coding : graphs_.codings)
      run.values.push_back(
          {values.at(coding.layer), !coding.real && !coding.positions, coding.format.scale, coding.format.zero_point});
    for (const auto& [name, tensor] : inputs) run.arguments[name] = {tensor};
    add_masks(run, values, inputs);
    parallel_for_throwing(pool, std::ssize(layers_), [&](int64_t i) {
      layers_[static_cast<size_t>(i)]->check(run, options.all || first_sample == 0, options);
    });
  }

  /// Adds the results to those of checks with other shapes.
  void add_to(std::vector<LayerSemantics>& all) const {
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (i == all.size()) all.push_back({layers_[i]->name(), {}});
      add(all[i].semantics, layers_[i]->result());
    }
  }

 private:
  static Model integer_for(const Model& integer, const Tensors& inputs) {
    Model sized = sized_for(integer, inputs);
    passes::settle_extents(sized);
    return sized;
  }

  static Model source_for(const Model& prepared, const Tensors& inputs) {
    if (!prepared.source) fail(errors::source_model_missing(prepared.graph.name()));
    Model source = sized_for(prepared.source->network, inputs);
    take_trained(source, prepared.tensors);
    take_out_open_clips(source, prepared.graph);
    return source;
  }

  /// Adds quantized masks, with their values before quantization.
  void add_masks(Run& run, const Tensors& values, const Tensors& inputs) const {
    for (size_t i = 0; i < graphs_.codings.size(); ++i) {
      const Op op = graphs_.codings[i].op;
      if (!op.is<ops::Quantize>() || op.in(0).is_tensor() || !compared_.contains(op.in(0).node())) continue;
      const Tensors& known = op.in(0).producer() ? values : inputs;
      const auto floats = known.find(op.in(0).name());
      if (floats == known.end()) continue;
      const auto given = std::as_const(floats->second).data<float>();
      const auto hidden = [&](size_t at) {
        return given[at] <= kMasking ? std::optional(static_cast<double>(given[at])) : std::nullopt;
      };
      if (auto mask = with_hidden(run.values[i], hidden)) run.masks.emplace(i, std::move(*mask));
    }
    for (size_t i = 0; i < graphs_.codings.size(); ++i) {
      if (is_log_of_a_mask(graphs_.codings[i])) add_log(run, i);
    }
  }

  void add_log(Run& run, size_t place) const {
    const Tensor of = run.values[graphs_.codings[place].operands[0]].operand();
    const auto numbers = of.data<double>();
    const auto hidden = [&](size_t at) {
      return numbers[at] <= 0 ? std::optional(-std::numeric_limits<double>::infinity()) : std::nullopt;
    };
    if (auto mask = with_hidden(run.values[place], hidden)) run.masks.emplace(place, std::move(*mask));
  }

  /// Adds checks for the layers with this reference that no other check covers yet.
  void add_layers(Reference reference) {
    for (size_t place = 0; place < graphs_.codings.size(); ++place) {
      if (graphs_.codings[place].real || graphs_.covered[place]) continue;
      if (reference_of(graphs_.codings, place) == reference)
        layers_.push_back(std::make_unique<LayerSemanticCheck>(graphs_, place, reference));
    }
  }

  runtime::Program start(const Tensors& inputs) {
    compared_ = compared_values(graphs_.integer.graph);
    graphs_.codings = codings_of(graphs_.prepared, graphs_.integer.graph, graphs_.source.graph);
    graphs_.covered.resize(graphs_.codings.size());
    std::vector<std::string> fetch;
    for (const Coding& coding : graphs_.codings) fetch.push_back(coding.layer);
    return program_of(graphs_.integer, inputs, fetch);
  }

  SemanticGraphs graphs_;
  std::set<const detail::ValueNode*> compared_;
  runtime::Program program_;
  std::vector<std::unique_ptr<LayerSemanticCheck>> layers_;
};

}  // namespace

std::vector<LayerSemantics> check_semantics(const Model& prepared, const Model& integer, const BatchSource& source,
                                            int64_t samples, const SemanticOptions& options, ThreadPool& pool,
                                            const ProgressCallback& progress) {
  const Dims first = options.whole ? Dims() : prepared.graph.arguments().front().dims();
  const int64_t batch = first.empty() || first[0] == kUnknown ? 1 : first[0];
  std::map<std::vector<Dims>, SemanticCheck> checks;  // by shapes of the inputs
  for (int64_t begin = 0; begin + batch <= samples; begin += batch) {
    const Tensors inputs = source(begin, batch);
    const auto [check, fresh] = checks.try_emplace(extents_of(inputs), prepared, integer, inputs);
    if (fresh && begin == 0) check->second.check_weights();
    check->second.run(inputs, begin, batch, options, pool);
    if (progress) progress({"semantics", static_cast<double>(begin + batch), static_cast<double>(samples), ""});
  }
  std::vector<LayerSemantics> layers;
  for (const auto& [extents, check] : checks) check.add_to(layers);
  return layers;
}

std::vector<LayerSemantics> check_semantics(const Model& prepared, const Model& integer, const SemanticOptions& options,
                                            ThreadPool& pool) {
  HS_CHECK(prepared.source != nullptr);
  const Source& source = *prepared.source;
  const auto inputs = [&](int64_t begin, int64_t count) { return source.inputs(begin, count); };
  return check_semantics(prepared, integer, inputs, source.sample_count(), options, pool);
}

}  // namespace halfstep::verify
