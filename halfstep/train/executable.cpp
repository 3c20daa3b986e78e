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
    : model_(std::move(model)), fetch_(std::move(fetch)), pool_(pool) {
  if (model_.graph.arguments().size() != 1)
    fail("network '{}' has {} inputs, expected one that takes samples", model_.graph.name(),
         model_.graph.arguments().size());
}

std::map<std::string, Tensor> BatchRunner::run(const Tensor& x) {
  const std::string& input = model_.graph.arguments().front().name();
  const int64_t batch = x.dims()[0];
  auto found = programs_.find(batch);
  if (found == programs_.end()) {
    CompileOptions options;
    options.fetch = fetch_;
    found = programs_.emplace(batch, compile(specialize(model_, {{input, x.dims()}}), options)).first;
  }
  return found->second.run({{input, x}}, pool_);
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
  constexpr int64_t kBatch = 128;
  BatchRunner runner(evaluation_form(model), {}, pool);
  const std::string& output = model.graph.body().output_names().front();
  int64_t right = 0;
  for (int64_t begin = 0; begin < samples.size(); begin += kBatch) {
    const int64_t count = std::min(kBatch, samples.size() - begin);
    const auto predicted = largest_of_rows(runner.run(samples.x(begin, count)).at(output));
    const Tensor labels = samples.labels(begin, count);
    for (size_t i = 0; i < predicted.size(); ++i) right += predicted[i] == labels.data<int32_t>()[i] ? 1 : 0;
  }
  return samples.size() == 0 ? 0.0 : static_cast<double>(right) / static_cast<double>(samples.size());
}

}  // namespace halfstep::train
