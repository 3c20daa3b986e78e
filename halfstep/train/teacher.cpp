#include "halfstep/train/teacher.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "halfstep/base/random.h"
#include "halfstep/base/status.h"
#include "halfstep/passes/bypass_quantizers.h"
#include "halfstep/passes/training_form.h"
#include "halfstep/quant/prepare.h"

namespace halfstep::train {
namespace {

/// Sums over the first axis of one output, for each position behind it.
struct Moments {
  std::vector<double> sum, sum_of_squares;
  int64_t rows = 0;

  void add(const Tensor& output) {
    const int64_t count = output.dims().empty() ? 1 : output.dims()[0];
    if (count == 0) return;
    const auto positions = static_cast<size_t>(output.size() / count);
    sum.resize(positions);
    sum_of_squares.resize(positions);
    rows += count;
    const auto values = output.data<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      const double value{values[i]};
      sum[i % positions] += value;
      sum_of_squares[i % positions] += value * value;
    }
  }

  float spread() const {
    constexpr double kLeastShare = 1e-3;
    double variance = 0, square = 0;
    for (size_t i = 0; i < sum.size(); ++i) {
      const double mean = sum[i] / static_cast<double>(rows);
      const double mean_square = sum_of_squares[i] / static_cast<double>(rows);
      variance += std::max(0.0, mean_square - mean * mean);
      square += mean_square;
    }
    const double size = std::max<double>(1.0, static_cast<double>(sum.size()));
    const double spread = std::max(std::sqrt(variance / size), kLeastShare * std::sqrt(square / size));
    return spread > 0 ? static_cast<float>(spread) : 1.0F;
  }
};

}  // namespace

void require_teacher(const Model& model, const std::string& data) {
  if (!quant::is_prepared(model))
    fail("{}: only a prepared network learns from its float form, expected one or samples with labels", data);
}

Model teacher_of(const Model& model, const std::string& data) {
  require_teacher(model, data);
  Model teacher = clone(model);
  passes::set_mode(teacher.graph, passes::Mode::evaluation);
  passes::bypass_quantizers(teacher.graph);
  return teacher;
}

std::vector<std::string> float_outputs(const Model& model, const std::map<std::string, Dims>& extents) {
  const Model sized = specialize(model, extents);
  const std::vector<Value> outputs = sized.graph.outputs();
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Type& type = outputs[i].type();
    if (type.dtype == DType::f32 && type.is_static()) names.push_back(model.graph.body().output_names()[i]);
  }
  if (names.empty())
    fail("network '{}': has no output of f32 with the same extents in every run, expected one to learn from",
         model.graph.name());
  return names;
}

Spreads spreads_of(const Model& model, BatchRunner& teacher, const Samples& samples, int64_t batch, uint64_t seed) {
  constexpr int64_t kMostSamples = 1024;
  constexpr uint64_t kStream = (uint64_t{3} << 62) + 1;  // behind that of hold_back
  const auto order = Random(seed, kStream).permutation(samples.size());
  const int64_t batches = std::max<int64_t>(1, std::min(kMostSamples, samples.size()) / batch);
  std::map<std::string, Moments> moments;
  for (const std::string& name : float_outputs(model, samples.extents(batch))) moments.try_emplace(name);
  for (int64_t i = 0; i < batches; ++i) {
    const Tensors outputs = teacher.run(samples.inputs(i * batch, batch, &order));
    for (auto& [name, of_output] : moments) of_output.add(outputs.at(name));
  }
  Spreads spreads;
  for (const auto& [name, of_output] : moments) spreads[name] = of_output.spread();
  return spreads;
}

}  // namespace halfstep::train
