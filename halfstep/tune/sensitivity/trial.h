// Evaluates many forms of one network on the same samples.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "halfstep/data/pipeline/samples.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/train/evaluate/history.h"
#include "halfstep/train/evaluate/metric_sums.h"

namespace halfstep::sensitivity {

/// Stores samples as inputs of the network, and the float network's outputs for them, up to a memory limit.
class Trial {
 public:
  /// `in_float`: the network without quantizers. Selects at most `most` samples (0: all) by the seed. If the network
  /// has a fixed batch, only whole batches are used. Throws if there are no samples.
  Trial(const Model& in_float, data::Samples samples, int64_t most, uint64_t seed, ThreadPool& pool);

  /// Evaluates a form of the network: with labels, or against the float network without them.
  train::ValidationResult of(const Model& network) const { return outcome_of(network).judged; }

  struct Outcome {
    train::ValidationResult judged;  ///< result of `of`
    train::ValidationResult near;    ///< against the float network, with or without labels
  };
  Outcome outcome_of(const Model& network) const;

  /// Accumulates the results of a form, for callers that run its batches themselves.
  struct Tallies {
    train::MetricSums judged, near;  ///< without labels only `near` is used
  };
  Tallies tallies() const { return {{output_, loss_spreads()}, {output_, spreads_}}; }
  void add(Tallies& tallies, int64_t begin, const Tensors& inputs, const Tensors& outputs) const;
  Outcome outcome(const Tallies& tallies) const;

  int64_t size() const { return size_; }
  bool has_labels() const { return has_labels_; }
  /// Spreads of the float network's outputs if these replace labels, empty with labels.
  const train::Spreads& loss_spreads() const { return has_labels() ? no_spreads_ : spreads_; }
  /// Number of samples in the batch that starts at `begin`.
  int64_t count(int64_t begin) const { return std::min(batch_, size_ - begin); }
  /// Samples [begin, begin + count) as arguments of the network.
  Tensors inputs(int64_t begin, int64_t count) const;
  Tensor labels(int64_t begin, int64_t count) const { return samples_.labels(begin, count); }
  int64_t batch() const { return batch_; }
  const data::Samples& samples() const { return samples_; }
  ThreadPool& pool() const { return pool_; }

 private:
  Tensors answers(int64_t begin, const Tensors& inputs) const;

  data::Samples samples_;
  ThreadPool& pool_;
  mutable train::BatchRunner in_float_;
  int64_t size_ = 0, batch_ = 1;
  bool has_labels_ = false;       ///< labels for the outputs
  std::string output_;            ///< first output
  std::vector<Tensors> kept_;     ///< batches of inputs
  std::vector<Tensors> answers_;  ///< float network's outputs for the same batches
  train::Spreads spreads_, no_spreads_;
};

}  // namespace halfstep::sensitivity
