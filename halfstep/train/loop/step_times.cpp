#include "halfstep/train/loop/step_times.h"

#include <algorithm>

namespace halfstep::train {

void StepTimes::add(const runtime::Program& program, const runtime::Trace& trace) {
  struct Event {
    int64_t at;
    bool begins;
    Total* total;
  };
  std::vector<Event> events;
  for (size_t i = 0; i < trace.timings.size(); ++i) {
    const auto& [begin, end, worker] = trace.timings[i];
    const runtime::Instruction& instruction = program.instructions()[i];
    Total& total = totals_[{instruction.op, instruction.kernel == nullptr ? "copy" : instruction.kernel->name}];
    ++total.calls;
    events.push_back({begin, true, &total});
    events.push_back({end, false, &total});
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
  std::vector<Total*> under_way;
  int64_t now = 0;
  for (const Event& event : events) {
    const auto passed = static_cast<double>(event.at - now);
    for (Total* total : under_way) total->nanoseconds += passed / static_cast<double>(under_way.size());
    now = event.at;
    if (event.begins) {
      under_way.push_back(event.total);
    } else {
      under_way.erase(std::find(under_way.begin(), under_way.end(), event.total));
    }
  }
  ++traced_;
}

double StepTimes::median() const {
  if (milliseconds_.empty()) return 0;
  std::vector<double> sorted = milliseconds_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

std::vector<OperatorTime> StepTimes::operators() const {
  std::vector<OperatorTime> operators;
  for (const auto& [key, total] : totals_) {
    const auto steps = static_cast<double>(traced_);
    operators.push_back(
        {key.first, key.second, static_cast<double>(total.calls) / steps, total.nanoseconds * 1e-6 / steps});
  }
  std::stable_sort(operators.begin(), operators.end(),
                   [](const OperatorTime& a, const OperatorTime& b) { return a.milliseconds > b.milliseconds; });
  return operators;
}

}  // namespace halfstep::train
