#include "halfstep/tune/sensitivity/curvature.h"

#include <algorithm>
#include <cmath>

#include "halfstep/tune/sensitivity/gradients.h"

namespace halfstep::sensitivity {
namespace {

constexpr int64_t kBatch = 32, kMostBatches = 4;
/// Step of finite differences, relative to a tensor's root mean square. Well above the rounding of gradients in
/// float32.
constexpr double kStep = 0x1p-7;
constexpr uint64_t kDirectionStream = uint64_t{5} << 60;  ///< each tensor, batch and direction has its own stream from
                                                          ///< here

double root_mean_square(const Tensor& tensor) {
  double sum = 0;
  for (const float value : tensor.data<float>()) sum += static_cast<double>(value) * static_cast<double>(value);
  return tensor.size() == 0 ? 0 : std::sqrt(sum / static_cast<double>(tensor.size()));
}

Tensor moved(const Tensor& from, const Tensor& signs, float step) {
  Tensor to = from.clone();
  const auto a = to.data<float>();
  const auto b = signs.data<float>();
  for (size_t i = 0; i < a.size(); ++i) a[i] += step * b[i];
  return to;
}

/// Accumulates traces and scores over batches.
class Gatherer {
 public:
  Gatherer(const FloatNetwork& network, const Trial& trial, const CurvatureOptions& options, int64_t batch)
      : network_(network), options_(options), batch_(batch), program_(network, trial, batch, options.seed) {
    traces_.assign(program_.variables().size(), std::vector<double>(static_cast<size_t>(options.directions)));
    scores_.assign(network.places().size(), 0);
    for (const Place& place : network.places()) rounders_.push_back(network.rounder(place));
  }

  void add(int64_t number) {
    const int64_t begin = number * batch_;
    add_scores(program_.run(program_.scattered_inputs(begin, stream_of(number, 0, 0))));
    const Tensors inputs = program_.inputs(begin);
    const Tensors contents = program_.run(inputs);
    for (int64_t direction = 0; direction < options_.directions; ++direction) {
      for (const bool weights : {true, false}) add_traces(inputs, contents, weights, number, direction);
    }
    ++batches_;
  }

  std::map<std::string, Curvature> result() const {
    std::map<std::string, Curvature> result;
    for (size_t p = 0; p < network_.places().size(); ++p) {
      const size_t v = variable_of(network_.places()[p]);
      if (!has_gradient(v)) continue;
      Curvature curvature = mean_of(traces_[v]);
      curvature.score = scores_[p] / static_cast<double>(batches_);
      result.emplace(network_.places()[p].name(), curvature);
    }
    return result;
  }

 private:
  uint64_t stream_of(int64_t number, int64_t direction, size_t variable) const {
    return kDirectionStream + (((static_cast<uint64_t>(number) << 20) + static_cast<uint64_t>(direction)) << 20) +
           variable;
  }

  /// Index of the variable, or the number of variables if it has no gradient.
  size_t variable_of(const Place& place) const {
    const auto found = std::ranges::find(program_.variables(), place.value(), &Variable::value);
    return static_cast<size_t>(found - program_.variables().begin());
  }

  bool has_gradient(size_t variable) const {
    return variable < program_.variables().size() && !program_.variables()[variable].gradient.empty();
  }

  const Tensor& contents_of(const Variable& variable, const Tensors& values) const {
    return variable.is_weight ? network_.prepared().tensors.at(variable.value) : values.at(variable.contents);
  }

  /// Gradients are for the mean loss of the batch. The gradient of a sample's own value is 1/batch of its own loss's
  /// gradient. For a weight, the square of the mean of independent gradients is 1/batch of their mean square. Both
  /// cases need the factor `batch`.
  void add_scores(const Tensors& values) {
    const auto samples = static_cast<double>(batch_);
    for (size_t p = 0; p < network_.places().size(); ++p) {
      const size_t v = variable_of(network_.places()[p]);
      if (!has_gradient(v)) continue;
      const Variable& variable = program_.variables()[v];
      const Tensor& x = contents_of(variable, values);
      const Channels channels(x.dims(), rounders_[p].axis());
      const auto gradient = values.at(variable.gradient).data<float>();
      double sum = 0;
      for (size_t i = 0; i < gradient.size(); ++i) {
        const float value = x.data<float>()[i];
        const double error =
            static_cast<double>(rounders_[p](value, channels.of(i)).value) - static_cast<double>(value);
        const double slope = static_cast<double>(gradient[i]) * error;
        sum += slope * slope;
      }
      scores_[p] += 0.5 * samples * sum;
    }
  }

  /// z'(gradient(v + step z) - gradient(v - step z)) / (2 step), for all weights or all activations together.
  void add_traces(const Tensors& inputs, const Tensors& contents, bool weights, int64_t number, int64_t direction) {
    std::vector<Tensor> signs(program_.variables().size());
    std::vector<double> steps(signs.size());
    for (size_t v = 0; v < signs.size(); ++v) {
      const Variable& variable = program_.variables()[v];
      if (variable.is_weight != weights) continue;
      const Tensor& x = contents_of(variable, contents);
      const double magnitude = root_mean_square(x);
      signs[v] = random_signs(x.dims(), options_.seed, stream_of(number, direction + 1, v));
      steps[v] = kStep * (magnitude > 0 ? magnitude : 1);
    }
    const Tensors up = at(inputs, signs, steps, 1), down = at(inputs, signs, steps, -1);
    if (weights) at_rest();
    for (size_t v = 0; v < signs.size(); ++v) {
      const Variable& variable = program_.variables()[v];
      if (variable.is_weight != weights || variable.gradient.empty()) continue;
      const std::span<const float> z = signs[v].data<float>(), a = up.at(variable.gradient).data<float>(),
                                   b = down.at(variable.gradient).data<float>();
      double sum = 0;
      for (size_t i = 0; i < z.size(); ++i)
        sum += static_cast<double>(z[i]) * (static_cast<double>(a[i]) - static_cast<double>(b[i]));
      traces_[v][static_cast<size_t>(direction)] += sum / (2 * steps[v]);
    }
  }

  /// The gradients after all variables with signs moved along them.
  Tensors at(Tensors inputs, const std::vector<Tensor>& signs, const std::vector<double>& steps, int side) {
    for (size_t v = 0; v < signs.size(); ++v) {
      if (!signs[v].defined()) continue;
      const Variable& variable = program_.variables()[v];
      const auto step = static_cast<float>(side * steps[v]);
      if (variable.is_weight) {
        program_.set_weight(variable.moved, moved(network_.prepared().tensors.at(variable.value), signs[v], step));
      } else {
        Tensor& shift = inputs.at(variable.moved);
        shift = moved(shift, signs[v], step);
      }
    }
    return program_.run(inputs);
  }

  void at_rest() {
    for (const Variable& variable : program_.variables()) {
      if (variable.is_weight) program_.set_weight(variable.moved, network_.prepared().tensors.at(variable.value));
    }
  }

  Curvature mean_of(const std::vector<double>& sums) const {
    const auto count = static_cast<double>(sums.size());
    double mean = 0, squares = 0;
    for (const double sum : sums) mean += sum / static_cast<double>(batches_) / count;
    for (const double sum : sums) squares += std::pow(sum / static_cast<double>(batches_) - mean, 2);
    return {mean, count > 1 ? std::sqrt(squares / (count - 1) / count) : 0};
  }

  const FloatNetwork& network_;
  const CurvatureOptions& options_;
  int64_t batch_, batches_ = 0;
  LossProgram program_;
  std::vector<std::vector<double>> traces_;  ///< by variable and direction, summed over batches
  std::vector<double> scores_;               ///< by place, summed over batches
  std::vector<Rounder> rounders_;
};

}  // namespace

std::map<std::string, Curvature> curvatures(const FloatNetwork& network, const Trial& trial,
                                            const CurvatureOptions& options, const ProgressCallback& progress) {
  const int64_t batch = data::batch_of(network.prepared(), std::min(kBatch, trial.size()));
  const int64_t batches = std::min(kMostBatches, trial.size() / batch);
  Gatherer gatherer(network, trial, options, batch);
  for (int64_t number = 0; number < batches; ++number) {
    gatherer.add(number);
    if (progress) progress({"gradients", static_cast<double>(number + 1), static_cast<double>(batches), ""});
  }
  return gatherer.result();
}

}  // namespace halfstep::sensitivity
