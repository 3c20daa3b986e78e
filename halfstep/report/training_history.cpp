#include "halfstep/report/training_history.h"

#include <fmt/format.h>

namespace halfstep::report {

std::string history_text(const train::TrainingHistory& history) {
  if (history.validation_results.empty()) return {};
  const auto& validation_results = history.validation_results;
  const std::string start = text_of(history, validation_results.front());
  const std::string best = text_of(history, validation_results[static_cast<size_t>(history.best)]);
  const std::string written = history.best == 0 ? "no epoch improved the validation result: the initial model was kept"
                                                : fmt::format("{} after epoch {}, which was kept", best, history.best);
  std::string text = fmt::format("on {} validation samples: {} at the start; {}\n", history.samples, start, written);
  if (history.teacher) text += fmt::format("teacher on the same samples: {}\n", text_of(history, *history.teacher));
  if (history.ended_below())
    text += fmt::format("the last epoch is worse than the initial model: {} after epoch {}\n",
                        text_of(history, validation_results.back()), validation_results.size() - 1);
  return text;
}

}  // namespace halfstep::report
