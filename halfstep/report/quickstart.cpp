#include "halfstep/report/quickstart.h"

#include "halfstep/core/files/atomic_file.h"
#include "halfstep/report/audit.h"
#include "halfstep/report/common/json.h"
#include "halfstep/report/common/objects.h"
#include "halfstep/report/verified.h"

namespace halfstep::report {

std::string as_json(const api::QuickstartReport& report) {
  nlohmann::ordered_json json;
  json["platform"] = report.platform;
  json["data"] = report.data;
  json["tested"] = report.tested;
  json.update(to_json(report.equivalence));
  json["notes"] = report.notes;
  if (report.has_accuracy)
    json["accuracy"] = {{"float", report.accuracy_float},
                        {"calibrated", report.accuracy_calibrated},
                        {"finetuned", report.accuracy_finetuned},
                        {"integer", report.accuracy_integer}};
  if (!report.history.validation_results.empty())
    json["validation"] = nlohmann::ordered_json::parse(train::to_text(report.history));
  for (const auto& [stage, seconds] : report.seconds) json["seconds"][stage] = seconds;
  json["peak_rss_bytes"] = report.peak_rss_bytes;
  json["model_bytes"] = {{"float", report.float_bytes}, {"integer", report.integer_bytes}};
  json["weights_digest"] = report.weights_digest;
  json["audit"] = to_json(report.audit);
  return to_text(json);
}

void write(const api::QuickstartReport& report, const std::filesystem::path& folder) {
  io::write_file(folder / "report.json", as_json(report));
}

}  // namespace halfstep::report
