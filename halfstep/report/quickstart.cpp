#include "halfstep/report/quickstart.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "halfstep/io/atomic_file.h"

namespace halfstep::report {
namespace {

/// Stands for an infinite ratio, which JSON lacks: the 24 bits of a float are 150 dB.
constexpr double kLargestSqnr = 200.0;

nlohmann::ordered_json layer_json(const verify::LayerReport& report) {
  nlohmann::ordered_json json;
  json["name"] = report.layer.name;
  json["op"] = report.layer.op;
  json["weight_bits"] =
      report.layer.weight_bits ? nlohmann::ordered_json(*report.layer.weight_bits) : nlohmann::ordered_json();
  json["feature_bits"] = report.layer.feature_bits;
  json["scale"] = static_cast<double>(report.layer.scale);
  json["compared"] = report.compared;
  json["differing"] = report.differing;
  if (report.meaning)
    json["meaning"] = {{"compared", report.meaning->compared},
                       {"near_ties", report.meaning->near_ties},
                       {"beyond", report.meaning->beyond}};
  json["sqnr_db"] = std::clamp(report.sqnr_db, -kLargestSqnr, kLargestSqnr);
  return json;
}

}  // namespace

std::string as_json(const api::QuickstartReport& report) {
  nlohmann::ordered_json json;
  json["platform"] = report.platform;
  json["data"] = report.data;
  if (report.has_accuracy)
    json["accuracy"] = {{"float", report.accuracy_float},
                        {"calibrated", report.accuracy_calibrated},
                        {"finetuned", report.accuracy_finetuned},
                        {"integer", report.accuracy_integer}};
  if (!report.held_back.standings.empty())
    json["held_back"] = nlohmann::ordered_json::parse(train::to_text(report.held_back));
  json["samples"] = report.samples;
  for (const auto& [stage, seconds] : report.seconds) json["seconds"][stage] = seconds;
  json["peak_rss_bytes"] = report.peak_rss_bytes;
  json["model_bytes"] = {{"float", report.float_bytes}, {"integer", report.integer_bytes}};
  json["weights_digest"] = report.weights_digest;
  json["cosine"] = report.roads.cosine;
  if (report.roads.agreement) json["agreement"] = *report.roads.agreement;
  if (!report.roads.unchecked.empty()) json["meaning_unchecked"] = report.roads.unchecked;
  json["layers"] = nlohmann::ordered_json::array();
  for (const auto& layer : report.roads.layers) json["layers"].push_back(layer_json(layer));
  return json.dump(2) + "\n";
}

void write(const api::QuickstartReport& report, const std::filesystem::path& folder) {
  io::write_file(folder / "report.json", as_json(report));
}

}  // namespace halfstep::report
