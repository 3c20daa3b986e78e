#include "halfstep/engine/runtime/backward.h"

#include <algorithm>

#include "halfstep/engine/runtime/iterated_rows.h"

namespace halfstep::runtime {
namespace {

using Values = std::vector<Tensor>;

/// States before every k-th iteration.
class KeptStates {
 public:
  /// Call it for iteration 0, 1, 2 and so on, without a gap.
  void add(int64_t iteration, const Values& states) {
    if (iteration % spacing_ != 0) return;
    if (static_cast<int64_t>(kept_.size()) == std::max(kLeast, 2 * spacing_)) keep_half();
    if (iteration % spacing_ == 0) kept_.push_back(states);
  }

  /// Iteration of the last kept states.
  int64_t last() const { return (static_cast<int64_t>(kept_.size()) - 1) * spacing_; }

  Values take_last() {
    Values states = std::move(kept_.back());
    kept_.pop_back();
    return states;
  }

 private:
  static constexpr int64_t kLeast = 32;

  void keep_half() {
    for (size_t i = 1; 2 * i < kept_.size(); ++i) kept_[i] = std::move(kept_[2 * i]);
    kept_.resize(kept_.size() / 2);
    spacing_ *= 2;
  }

  int64_t spacing_ = 1;
  std::vector<Values> kept_;
};

class Backward {
 public:
  Backward(const FlowSpec& spec, const Values& operands, size_t results, const RunRegion& run)
      : spec_(spec),
        is_loop_(operands[0].defined()),
        condition_(operands[0]),
        values_(operands.begin() + 1, operands.end()),
        run_(run),
        made_{part(values_.size() - spec.rows - spec.carried, spec.carried),
              std::vector<Values>(results - spec.carried)} {}

  Iterated run() {
    for (int64_t end = go_forward(); end > 0;) {
      const int64_t begin = kept_.last();
      std::vector<Values> states = {kept_.take_last()};
      for (int64_t i = begin; i + 1 < end; ++i) states.push_back(next(i, states.back()));
      for (int64_t i = end; i-- > begin; states.pop_back()) go_back(i, states.back());
      end = begin;
    }
    for (Values& rows : made_.rows) std::ranges::reverse(rows);
    return std::move(made_);
  }

 private:
  /// Returns the number of iterations.
  int64_t go_forward() {
    const int64_t most = !is_loop_ ? values_[spec_.states].dims()[0] : spec_.at_most > 0 ? spec_.at_most : INT64_MAX;
    goes_on_ = !is_loop_ || holds(condition_);
    Values states = part(0, spec_.states);
    int64_t count = 0;
    for (; goes_on_ && count < most; ++count) {
      kept_.add(count, states);
      if (is_loop_ || count + 1 < most) states = next(count, states);
    }
    return count;
  }

  Values next(int64_t iteration, const Values& states) {
    Values given = run_(0, iteration, taken(iteration, states));
    if (is_loop_) {
      goes_on_ = holds(given[0]);
      given.erase(given.begin());
    }
    return given;
  }

  void go_back(int64_t iteration, const Values& states) {
    Values in = taken(iteration, states);
    in.insert(in.end(), made_.last.begin(), made_.last.end());
    for (size_t i = values_.size() - spec_.rows; i < values_.size(); ++i) in.push_back(row_of(values_[i], iteration));
    Values given = run_(1, iteration, in);
    const auto stacked = given.begin() + static_cast<std::ptrdiff_t>(spec_.carried);
    for (size_t r = 0; r < made_.rows.size(); ++r) made_.rows[r].push_back(stacked[static_cast<std::ptrdiff_t>(r)]);
    given.erase(stacked, given.end());
    made_.last = std::move(given);
  }

  /// Inputs of the forward region in one iteration.
  Values taken(int64_t iteration, const Values& states) const {
    Values in = states;
    const size_t captured = spec_.states + spec_.scanned, end = values_.size() - spec_.rows - spec_.carried;
    for (size_t i = spec_.states; i < captured; ++i) in.push_back(row_of(values_[i], iteration));
    for (size_t i = captured; i < end; ++i) in.push_back(values_[i]);
    return in;
  }

  Values part(size_t first, size_t count) const {
    const auto begin = values_.begin() + static_cast<std::ptrdiff_t>(first);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }

  static bool holds(const Tensor& condition) { return *condition.raw() != std::byte{0}; }

  const FlowSpec& spec_;
  const bool is_loop_;
  const Tensor condition_;
  const Values values_;
  const RunRegion& run_;
  bool goes_on_ = true;
  KeptStates kept_;
  Iterated made_;
};

}  // namespace

Iterated run_backward(const FlowSpec& spec, const std::vector<Tensor>& operands, size_t results, const RunRegion& run) {
  return Backward(spec, operands, results, run).run();
}

}  // namespace halfstep::runtime
