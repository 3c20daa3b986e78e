// Measures training steps and the share of each operator.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/engine/runtime/program.h"

namespace halfstep::train {

/// Time of the instructions with one operator and kernel in a step.
struct OperatorTime {
  std::string op, kernel;
  double calls = 0;         ///< calls per step
  double milliseconds = 0;  ///< mean milliseconds per step
};

class StepTimes {
 public:
  void add(double milliseconds) { milliseconds_.push_back(milliseconds); }
  /// Divides every moment of a traced step equally among the instructions that ran at that moment.
  void add(const runtime::Program& program, const runtime::Trace& trace);

  /// Median in milliseconds, 0 without steps.
  double median() const;
  /// Operators, slowest first. Empty if no step was traced.
  std::vector<OperatorTime> operators() const;

 private:
  struct Total {
    int64_t calls = 0;
    double nanoseconds = 0;
  };
  std::vector<double> milliseconds_;
  int64_t traced_ = 0;
  std::map<std::pair<std::string, std::string>, Total> totals_;  ///< key: operator and kernel
};

}  // namespace halfstep::train
