#include "halfstep/train/evaluate/executable.h"

#include <algorithm>

#include "halfstep/core/base/status.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/passes/quantized/learned_parts.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/passes/quantized/quantized_patterns.h"
#include "halfstep/passes/quantized/training_form.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/evaluate/errors.h"
#include "halfstep/train/evaluate/metric_sums.h"

namespace halfstep::train {

Model evaluation_form(const Model& model) {
  Model form = model;
  passes::set_mode(form.graph, passes::Mode::evaluation);
  passes::close_learned_parts(form);
  if (passes::has_uneven_levels(form)) {
    passes::open_levels(form);
    return form;
  }
  if (quant::is_prepared(form)) return passes::quantized_patterns(form, false);
  return form;
}

BatchRunner::BatchRunner(Model model, std::vector<std::string> fetch, ThreadPool& pool, IterationWatch watch)
    : model_(std::move(model)), fetch_(std::move(fetch)), pool_(pool), watch_(std::move(watch)) {}

Tensors BatchRunner::run(const Tensors& inputs) {
  const Dims& first = inputs.at(model_.graph.arguments().front().name()).dims();
  auto found = programs_.find(first);
  if (found == programs_.end()) {
    CompileOptions options;
    options.fetch = fetch_;
    options.watch_iterations = watch_;
    std::map<std::string, Dims> extents;
    for (const auto& [name, tensor] : inputs) extents.emplace(name, tensor.dims());
    found = programs_.emplace(first, compile(specialize(model_, extents), options)).first;
  }
  return found->second.run(inputs, pool_);
}

Answers answers_of(BatchRunner& network) {
  return [&network](const Tensors& inputs) { return network.run(inputs); };
}

std::vector<int64_t> largest_of_rows(const Tensor& logits) {
  const int64_t rows = logits.dims()[0];
  const int64_t columns = rows == 0 ? 0 : logits.size() / rows;
  const auto values = logits.data<float>();
  std::vector<int64_t> largest;
  for (int64_t r = 0; r < rows; ++r) {
    const auto row = values.subspan(static_cast<size_t>(r * columns), static_cast<size_t>(columns));
    largest.push_back(std::max_element(row.begin(), row.end()) - row.begin());
  }
  return largest;
}

namespace {

/// Number of outputs in a row that rank before the label's: larger ones, and equal ones with a lower index. If the
/// label's output is NaN, all do.
int64_t rank_of(std::span<const float> row, size_t label) {
  int64_t rank = 0;
  for (size_t i = 0; i < row.size(); ++i) rank += !(row[i] < row[label]) && (row[i] != row[label] || i < label) ? 1 : 0;
  return rank;
}

/// Adds the number of labels among the largest outputs of their row, and the loss.
void add_rows(const Tensor& logits, const Tensor& labels, const std::vector<int64_t>& most, Scores& sums) {
  const auto classes = static_cast<size_t>(logits.dims()[1]);
  const auto values = logits.data<float>();
  size_t begin = 0;
  for (const int32_t label : labels.data<int32_t>()) {
    const auto row = values.subspan(begin, classes);
    const int64_t rank = rank_of(row, static_cast<size_t>(label));
    for (size_t i = 0; i < most.size(); ++i) sums.right[i] += rank < most[i] ? 1 : 0;
    sums.loss += cross_entropy(row, label);
    begin += classes;
  }
}

}  // namespace

Scores scores(const Model& model, const data::Samples& samples, const std::vector<int64_t>& most, ThreadPool& pool,
              const IterationWatch& watch) {
  if (!samples.data->has_labels()) fail(errors::samples_without_labels(samples.data->name));
  const int64_t batch = data::evaluation_batch(model, samples), end = data::usable(model, samples.size());
  BatchRunner runner(evaluation_form(model), {}, pool, watch);
  const std::string& output = model.graph.body().output_names().front();
  Scores sums{std::vector<double>(most.size())};
  for (int64_t begin = 0; begin < end; begin += batch) {
    const int64_t count = std::min(batch, end - begin);
    const Tensor labels = samples.labels(begin, count);
    const Tensor logits = rows_of_logits(runner.run(samples.inputs(begin, count)).at(output), labels.size());
    add_rows(logits, labels, most, sums);
  }
  const int64_t labels = end * samples.data->labels_each();
  if (labels == 0) return sums;
  for (double& share : sums.right) share /= static_cast<double>(labels);
  sums.loss /= static_cast<double>(labels);
  return sums;
}

double accuracy(const Model& model, const data::Samples& samples, ThreadPool& pool, const IterationWatch& watch) {
  return scores(model, samples, {1}, pool, watch).right.front();
}

}  // namespace halfstep::train
