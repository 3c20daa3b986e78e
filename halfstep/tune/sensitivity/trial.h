// Samples that many forms of one network are tried on.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "halfstep/data/pipeline/samples.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/train/evaluate/standing.h"
#include "halfstep/train/evaluate/tally.h"

namespace halfstep::sensitivity {

/// Keeps samples as the network takes them, up to a bound, and what the float network answers.
class Trial {
 public:
  /// `in_float`: the network without quantizers. No more than `most` samples (0: all), chosen by the seed, in whole
  /// batches where the network takes one size alone. Throws where there are none.
  Trial(const Model& in_float, data::Samples samples, int64_t most, uint64_t seed, ThreadPool& pool);

  /// How a form of the network does: by labels, or where there are none against the float network.
  train::Standing of(const Model& network) const { return outcome_of(network).judged; }

  struct Outcome {
    train::Standing judged;  ///< as `of`
    train::Standing near;    ///< against the float network, whether there are labels or not
  };
  Outcome outcome_of(const Model& network) const;

  /// What the outputs of a form add up to, for who runs it himself batch after batch.
  struct Tallies {
    train::Tally judged, near;  ///< without labels the second alone
  };
  Tallies tallies() const { return {{output_, loss_spreads()}, {output_, spreads_}}; }
  void add(Tallies& tallies, int64_t begin, const Tensors& inputs, const Tensors& outputs) const;
  Outcome outcome(const Tallies& tallies) const;

  int64_t size() const { return size_; }
  bool has_labels() const { return has_labels_; }
  /// Of the float network's outputs where they stand for labels, else none.
  const train::Spreads& loss_spreads() const { return has_labels() ? no_spreads_ : spreads_; }
  /// How many samples of a batch lie from `begin` on.
  int64_t count(int64_t begin) const { return std::min(batch_, size_ - begin); }
  /// Samples [begin, begin + count), for the network's arguments.
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
  bool has_labels_ = false;       ///< that the outputs answer
  std::string output_;            ///< the first
  std::vector<Tensors> kept_;     ///< batches of inputs
  std::vector<Tensors> answers_;  ///< of the float network, for the same batches
  train::Spreads spreads_, no_spreads_;
};

}  // namespace halfstep::sensitivity
