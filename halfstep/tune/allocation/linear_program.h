// Linear programs of yes and no, solved by CBC (COIN-OR).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace halfstep::allocation {

using Terms = std::vector<std::pair<int, double>>;  ///< variables with their factors

struct Solution {
  bool is_feasible = false;
  std::vector<double> values;  ///< of the variables
  double objective = 0;
  double bound = 0;   ///< no solution is less
  int64_t nodes = 0;  ///< of the search
};

/// What is to be made least, and what has to hold.
class Program {
 public:
  /// A new variable: 0 or 1, or with `is_whole` false anything from 0 to `most`.
  int add(double cost, bool is_whole = true, double most = 1);
  /// low <= the sum of terms <= high.
  void require(Terms terms, double low, double high);
  int64_t variables() const { return static_cast<int64_t>(costs_.size()); }

  /// Ends within a ten-thousandth of the least, or after a number of nodes that falls with the variables and is the
  /// same on every run: `bound` says how far the best found may be off.
  Solution solve() const;

 private:
  struct Row {
    Terms terms;
    double low, high;
  };
  std::vector<double> costs_, most_;
  std::vector<bool> whole_;
  std::vector<Row> rows_;
};

}  // namespace halfstep::allocation
