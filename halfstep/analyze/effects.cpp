#include "halfstep/analyze/effects.h"

#include <algorithm>
#include <numeric>

#include "halfstep/analyze/cuts.h"

namespace halfstep::analyze {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 29;  ///< of values that are kept

/// Samples of a batch, and what is computed of them at the place where the walk is, by name.
struct Batch {
  int64_t begin;
  Tensors inputs, in_float, rounded;
};

Tensors joined(const Tensors& inputs, const Tensors& values) {
  Tensors all = inputs;
  all.insert(values.begin(), values.end());
  return all;
}

/// From the front of the network to its end, quantizer after quantizer.
class Walk {
 public:
  Walk(const FloatNetwork& network, const Trial& trial, const std::function<void(size_t, size_t)>& done)
      : network_(network), trial_(trial), done_(done), cuts_(network.prepared().graph) {
    for (const Place& place : network.places()) {
      positions_.push_back(cuts_.position(place.quantizer));
      tallies_.push_back({trial.tally(), trial.tally(), trial.tally()});
    }
    order_.resize(positions_.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::ranges::stable_sort(order_, {}, [&](size_t p) { return positions_[p]; });
  }

  std::vector<Effect> run() {
    const int64_t batches = (trial_.size() + trial_.batch() - 1) / trial_.batch(), at_once = batches_at_once();
    const auto walks = static_cast<size_t>((batches + at_once - 1) / at_once);
    for (size_t walk = 0; walk < walks; ++walk) {
      const int64_t first = static_cast<int64_t>(walk) * at_once;
      start(first, std::min(first + at_once, batches));
      for (size_t i = 0; i < order_.size(); ++i) {
        advance(cuts_.live(positions_[order_[i]]));
        try_place(order_[i]);
        done_(walk * order_.size() + i + 1, walks * order_.size());
      }
    }
    std::vector<Effect> effects;
    for (const Tallies& one : tallies_)
      effects.push_back({one.alone.standing(), one.up_to.standing(), one.without.standing()});
    return effects;
  }

 private:
  struct Tallies {
    train::Tally alone, up_to, without;
  };

  /// As many as leave room for the values of two places, in float and rounded.
  int64_t batches_at_once() const {
    const Model sized = specialize(network_.prepared(), trial_.samples().extents(trial_.batch()));
    int64_t most = 1;
    for (const size_t position : positions_) {
      int64_t bytes = 0;
      for (const std::string& name : cuts_.live(position)) {
        const Value value = sized.graph.value(name);
        bytes += count_elements(value.dims()) * static_cast<int64_t>(size_of(value.dtype()));
      }
      most = std::max(most, bytes);
    }
    return std::max<int64_t>(1, kMostBytes / (4 * most));
  }

  void start(int64_t first_batch, int64_t last_batch) {
    batches_.clear();
    live_.clear();
    for (int64_t begin = first_batch * trial_.batch(); begin < std::min(last_batch * trial_.batch(), trial_.size());
         begin += trial_.batch())
      batches_.push_back({begin, trial_.inputs(begin, trial_.count(begin)), {}, {}});
  }

  /// Computes these values of those where the walk is, and forgets what is none of them.
  void advance(const std::vector<std::string>& live) {
    std::vector<std::string> next;
    std::ranges::copy_if(live, std::back_inserter(next),
                         [&](const std::string& name) { return std::ranges::find(live_, name) == live_.end(); });
    if (!next.empty()) {
      compute(next, &Batch::in_float, [](const std::string&) { return false; });
      compute(next, &Batch::rounded, [](const std::string&) { return true; });
    }
    const auto is_behind = [&](const auto& value) { return std::ranges::find(live, value.first) == live.end(); };
    for (Batch& batch : batches_) {
      std::erase_if(batch.in_float, is_behind);
      std::erase_if(batch.rounded, is_behind);
    }
    live_ = live;
  }

  void compute(const std::vector<std::string>& next, Tensors Batch::*values, const Stays& stays) {
    train::BatchRunner runner(train::evaluation_form(network_.part(live_, next, stays)), {}, trial_.pool());
    for (Batch& batch : batches_) (batch.*values).merge(runner.run(joined(batch.inputs, batch.*values)));
  }

  /// The network from here on with the quantizers of `stays`, on values that the walk has.
  void try_on(const Stays& stays, const std::vector<std::pair<Tensors Batch::*, train::Tally*>>& wanted) const {
    train::BatchRunner runner(train::evaluation_form(network_.part(live_, {}, stays)), {}, trial_.pool());
    for (const Batch& batch : batches_) {
      for (const auto& [values, tally] : wanted)
        trial_.add(*tally, batch.begin, batch.inputs, runner.run(joined(batch.inputs, batch.*values)));
    }
  }

  void try_place(size_t place) {
    const std::string& name = network_.places()[place].name();
    Tallies& tallies = tallies_[place];
    const auto is_it = [&](const std::string& other) { return other == name; };
    // of several that round for one operation, those before this one
    std::vector<std::string> beside = {name};
    for (size_t p = 0; p < place; ++p) {
      if (positions_[p] == positions_[place]) beside.push_back(network_.places()[p].name());
    }
    if (beside.size() == 1) {
      try_on(is_it, {{&Batch::in_float, &tallies.alone}, {&Batch::rounded, &tallies.up_to}});
    } else {
      try_on(is_it, {{&Batch::in_float, &tallies.alone}});
      try_on([&](const std::string& other) { return std::ranges::find(beside, other) != beside.end(); },
             {{&Batch::rounded, &tallies.up_to}});
    }
    try_on([&](const std::string& other) { return other != name; }, {{&Batch::rounded, &tallies.without}});
  }

  const FloatNetwork& network_;
  const Trial& trial_;
  const std::function<void(size_t, size_t)>& done_;
  Cuts cuts_;
  std::vector<size_t> positions_;  ///< of places
  std::vector<size_t> order_;      ///< of places, from the front of the network on
  std::vector<Tallies> tallies_;   ///< by place
  std::vector<std::string> live_;  ///< where the walk is
  std::vector<Batch> batches_;
};

}  // namespace

std::vector<Effect> effects_of(const FloatNetwork& network, const Trial& trial,
                               const std::function<void(size_t done, size_t steps)>& done) {
  return Walk(network, trial, done).run();
}

}  // namespace halfstep::analyze
