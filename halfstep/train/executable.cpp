#include "halfstep/train/executable.h"

#include <algorithm>

#include "halfstep/base/status.h"
#include "halfstep/compile/compile.h"
#include "halfstep/passes/quantized_patterns.h"
#include "halfstep/passes/training_form.h"
#include "halfstep/quant/prepare.h"

namespace halfstep::train {

Model evaluation_form(const Model& model) {
  Model form = model;
  passes::set_mode(form.graph, passes::Mode::evaluation);
  return quant::is_prepared(form) ? passes::quantized_patterns(form, false) : form;
}

BatchRunner::BatchRunner(Model model, std::vector<std::string> fetch, ThreadPool& pool)
    : model_(std::move(model)), fetch_(std::move(fetch)), pool_(pool) {}

Tensors BatchRunner::run(const Tensors& inputs) {
  const Dims& first = inputs.at(model_.graph.arguments().front().name()).dims();
  auto found = programs_.find(first);
  if (found == programs_.end()) {
    CompileOptions options;
    options.fetch = fetch_;
    std::map<std::string, Dims> extents;
    for (const auto& [name, tensor] : inputs) extents.emplace(name, tensor.dims());
    found = programs_.emplace(first, compile(specialize(model_, extents), options)).first;
  }
  return found->second.run(inputs, pool_);
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

double accuracy(const Model& model, const Samples& samples, ThreadPool& pool) {
  if (!samples.data->has_labels()) fail("{}: has no labels, accuracy needs them", samples.data->name);
  const int64_t batch = batch_of(model, 128), end = usable(model, samples.size());
  BatchRunner runner(evaluation_form(model), {}, pool);
  const std::string& output = model.graph.body().output_names().front();
  int64_t right = 0;
  for (int64_t begin = 0; begin < end; begin += batch) {
    const int64_t count = std::min(batch, end - begin);
    const auto predicted = largest_of_rows(runner.run(samples.inputs(begin, count)).at(output));
    const Tensor labels = samples.labels(begin, count);
    for (size_t i = 0; i < predicted.size(); ++i) right += predicted[i] == labels.data<int32_t>()[i] ? 1 : 0;
  }
  return end == 0 ? 0.0 : static_cast<double>(right) / static_cast<double>(end);
}

}  // namespace halfstep::train
