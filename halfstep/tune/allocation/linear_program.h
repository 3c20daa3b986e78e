// 0-1 integer linear programs, solved by CBC (COIN-OR).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace halfstep::allocation {

using Terms = std::vector<std::pair<int, double>>;  ///< variables with their factors

struct Solution {
  bool is_feasible = false;
  std::vector<double> values;  ///< values of the variables
  double objective = 0;
  double bound = 0;   ///< lower bound of all solutions
  int64_t nodes = 0;  ///< nodes of the search
};

/// An objective to minimize, with its constraints.
class Program {
 public:
  /// Adds a variable: 0 or 1, or a real number from 0 to `most` if `is_whole` is false.
  int add(double cost, bool is_whole = true, double most = 1);
  /// Requires low <= sum of the terms <= high.
  void require(Terms terms, double low, double high);
  int64_t variables() const { return static_cast<int64_t>(costs_.size()); }

  /// Stops at a relative gap of 1e-4, or after a number of nodes. This limit decreases with the number of variables and
  /// is the same on every run. `bound` is a lower bound of the objective.
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
