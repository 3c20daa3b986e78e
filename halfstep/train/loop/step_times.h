// How long training steps take, and which operators take it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/engine/runtime/program.h"

namespace halfstep::train {

/// What the instructions of an operator with one kernel take of a step.
struct OperatorTime {
  std::string op, kernel;
  double calls = 0;         ///< in a step
  double milliseconds = 0;  ///< of a step, in the mean
};

class StepTimes {
 public:
  void add(double milliseconds) { milliseconds_.push_back(milliseconds); }
  /// Shares every moment of a traced step equally among the instructions that were under way.
  void add(const runtime::Program& program, const runtime::Trace& trace);

  /// The median of the milliseconds; 0 where there are none.
  double median() const;
  /// The operators, the longest first; empty where no step was traced.
  std::vector<OperatorTime> operators() const;

 private:
  struct Total {
    int64_t calls = 0;
    double nanoseconds = 0;
  };
  std::vector<double> milliseconds_;
  int64_t traced_ = 0;
  std::map<std::pair<std::string, std::string>, Total> totals_;  ///< by operator and kernel
};

}  // namespace halfstep::train
