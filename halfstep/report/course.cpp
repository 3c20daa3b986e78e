#include "halfstep/report/course.h"

#include <fmt/format.h>

namespace halfstep::report {

std::string course_text(const train::Course& course) {
  if (course.standings.empty()) return {};
  const auto& standings = course.standings;
  const std::string start = text_of(course, standings.front());
  const std::string best = text_of(course, standings[static_cast<size_t>(course.best)]);
  const std::string written = course.best == 0 ? "no epoch did better: written as it was given"
                                               : fmt::format("{} after epoch {}, which was written", best, course.best);
  std::string text = fmt::format("on {} samples held back: {} at the start; {}\n", course.samples, start, written);
  if (course.teacher) text += fmt::format("the teacher has {} on them\n", text_of(course, *course.teacher));
  if (course.ended_below())
    text += fmt::format("training ended below where it began: {} after epoch {}\n", text_of(course, standings.back()),
                        standings.size() - 1);
  return text;
}

}  // namespace halfstep::report
