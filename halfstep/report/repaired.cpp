#include "halfstep/report/repaired.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "halfstep/report/common/objects.h"
#include "halfstep/report/common/text_table.h"

namespace halfstep::report {
namespace {

const char* name_of_right(const repair::Report& repaired) { return repaired.has_labels ? "accuracy" : "agreement"; }

std::string percent(const train::ValidationResult& validation_result) {
  return validation_result.right ? fmt::format("{:.2f} %", 100 * *validation_result.right) : "-";
}

const char* outcome(const repair::Step& step) { return step.kept ? "kept" : step.changed ? "undone" : "nothing"; }

nlohmann::ordered_json to_json(const repair::Report& repaired, const train::ValidationResult& validation_result) {
  nlohmann::ordered_json json = {{"distance", validation_result.loss}};
  if (validation_result.right) json[name_of_right(repaired)] = *validation_result.right;
  return json;
}

}  // namespace

std::string as_text(const repair::Report& repaired) {
  Table table({"repair", "outcome", name_of_right(repaired), "distance", "seconds"});
  table.add({"", "", percent(repaired.first), fmt::format("{:.3g}", repaired.first.loss), ""});
  for (const repair::Step& step : repaired.steps)
    table.add({step.name, outcome(step), percent(step.after), fmt::format("{:.3g}", step.after.loss),
               fmt::format("{:.1f}", step.seconds)});
  std::string text = table.text() + "\n";
  for (const repair::Step& step : repaired.steps) text += fmt::format("{}: {}\n", step.name, step.what);
  return text + fmt::format(
                    "\ncorrected with {} samples, judged on {} validation samples: {} {} became {}, distance {:.3g} to "
                    "the float network became {:.3g}\n",
                    repaired.learned, repaired.validation_split, name_of_right(repaired), percent(repaired.first),
                    percent(repaired.last), repaired.first.loss, repaired.last.loss);
}

nlohmann::ordered_json to_json(const repair::Report& repaired) {
  nlohmann::ordered_json json = {{"learned", repaired.learned},
                                 {"validation", repaired.validation_split},
                                 {"before", to_json(repaired, repaired.first)},
                                 {"after", to_json(repaired, repaired.last)},
                                 {"steps", nlohmann::ordered_json::array()}};
  for (const repair::Step& step : repaired.steps)
    json["steps"].push_back({{"method", step.name},
                             {"outcome", outcome(step)},
                             {"what", step.what},
                             {"before", to_json(repaired, step.before)},
                             {"after", to_json(repaired, step.after)},
                             {"seconds", step.seconds}});
  return json;
}

}  // namespace halfstep::report
