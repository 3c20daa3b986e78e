#include "halfstep/tune/sensitivity/variants.h"

#include <algorithm>
#include <optional>

#include "halfstep/core/base/status.h"

namespace halfstep::sensitivity {
namespace {

constexpr int64_t kKeptBytes = int64_t{1} << 29;  ///< limit for stored values

/// The pieces of one form. Each is compiled at its first run.
class Line {
 public:
  Line(const Pieces& pieces, Stays stays, ThreadPool& pool)
      : pieces_(pieces), stays_(std::move(stays)), pool_(pool), runners_(pieces.size()) {}

  /// Computes the values before the next piece from those before `piece`. The last piece returns the network's outputs.
  Tensors run(size_t piece, const Tensors& inputs, const Tensors& values) {
    auto& runner = runners_[piece];
    if (!runner) runner.emplace(train::evaluation_form(pieces_.with(piece, stays_)), std::vector<std::string>(), pool_);
    Tensors given = inputs;
    given.insert(values.begin(), values.end());
    Tensors results = runner->run(given);
    if (piece + 1 == pieces_.size()) return results;
    for (const std::string& name : pieces_.front(piece + 1)) {
      if (const auto passed = values.find(name); passed != values.end()) results.insert(*passed);
    }
    return results;
  }

 private:
  const Pieces& pieces_;
  const Stays stays_;
  ThreadPool& pool_;
  std::vector<std::optional<train::BatchRunner>> runners_;  ///< by piece
};

/// Samples of a batch, and the values computed before the current piece.
struct Batch {
  int64_t begin;
  Tensors inputs, in_float, rounded;
};

/// Runs the network piece by piece, from inputs to outputs.
class Walk {
 public:
  Walk(const Pieces& pieces, const Trial& trial, const std::vector<Variant>& variants,
       const std::function<void(size_t, size_t)>& done)
      : pieces_(pieces),
        trial_(trial),
        variants_(variants),
        done_(done),
        in_float_(
            pieces, [](const std::string&) { return false; }, trial.pool()),
        rounded_(
            pieces, [](const std::string&) { return true; }, trial.pool()),
        tallies_(variants.size(), trial.tallies()),
        at_(pieces.size()) {
    for (size_t v = 0; v < variants.size(); ++v) {
      HS_CHECK(variants[v].first <= variants[v].last && variants[v].last < pieces.size());
      at_[variants[v].first].push_back(v);
    }
    keeps_rounded_ = std::ranges::any_of(variants, &Variant::rounds_before);
    const int64_t bytes = pieces.front_bytes(trial.samples().extents(trial.batch()));
    const int64_t batches = kKeptBytes / std::max<int64_t>(1, bytes * (keeps_rounded_ ? 4 : 2));
    walk_ = trial.batch() * std::max<int64_t>(1, batches);
  }

  std::vector<Trial::Outcome> run() {
    size_t steps = 0;
    const auto walks = static_cast<size_t>((trial_.size() + walk_ - 1) / walk_);
    for (int64_t begin = 0; begin < trial_.size();) {
      begin = start(begin);
      for (size_t piece = 0; piece < pieces_.size(); ++piece) {
        for (const size_t variant : at_[piece]) {
          try_one(variant);
          done_(++steps, variants_.size() * walks);
        }
        if (piece + 1 < pieces_.size()) advance(piece);
      }
    }
    std::vector<Trial::Outcome> outcomes;
    for (const Trial::Tallies& one : tallies_) outcomes.push_back(trial_.outcome(one));
    return outcomes;
  }

 private:
  /// Loads the samples of a walk, and returns the index after its last sample.
  int64_t start(int64_t begin) {
    const int64_t end = std::min(begin + walk_, trial_.size());
    batches_.clear();
    for (; begin < end; begin += trial_.batch())
      batches_.push_back({begin, trial_.inputs(begin, trial_.count(begin)), {}, {}});
    return end;
  }

  void advance(size_t piece) {
    for (Batch& batch : batches_) {
      batch.in_float = in_float_.run(piece, batch.inputs, batch.in_float);
      if (keeps_rounded_) batch.rounded = rounded_.run(piece, batch.inputs, batch.rounded);
    }
  }

  void try_one(size_t number) {
    const Variant& variant = variants_[number];
    Line own(pieces_, variant.stays, trial_.pool());
    for (const Batch& batch : batches_) {
      Tensors values = variant.rounds_before ? batch.rounded : batch.in_float;
      for (size_t piece = variant.first; piece < pieces_.size(); ++piece) {
        Line& line = piece <= variant.last ? own : variant.rounds_behind ? rounded_ : in_float_;
        values = line.run(piece, batch.inputs, values);
      }
      trial_.add(tallies_[number], batch.begin, batch.inputs, values);
    }
  }

  const Pieces& pieces_;
  const Trial& trial_;
  const std::vector<Variant>& variants_;
  const std::function<void(size_t, size_t)>& done_;
  Line in_float_, rounded_;
  std::vector<Trial::Tallies> tallies_;  ///< by variant
  std::vector<std::vector<size_t>> at_;  ///< variants by their first piece
  bool keeps_rounded_ = false;
  int64_t walk_ = 0;  ///< samples of one walk, so that values before two pieces fit in memory
  std::vector<Batch> batches_;
};

}  // namespace

std::vector<Trial::Outcome> outcomes_of(const Pieces& pieces, const Trial& trial, const std::vector<Variant>& variants,
                                        const std::function<void(size_t done, size_t steps)>& done) {
  return Walk(pieces, trial, variants, done).run();
}

}  // namespace halfstep::sensitivity
