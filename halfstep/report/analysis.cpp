#include "halfstep/report/analysis.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "halfstep/report/common/decibels.h"
#include "halfstep/report/common/json.h"
#include "halfstep/report/common/text_table.h"

namespace halfstep::report {
namespace {

using nlohmann::ordered_json;
using sensitivity::Change;
using sensitivity::QuantizerAnalysis;

constexpr size_t kMostRows = 20;

double share_clipped(const sensitivity::Watched& seen) {
  return seen.elements == 0 ? 0 : static_cast<double>(seen.clipped) / static_cast<double>(seen.elements);
}

std::string points(const Change& change) {
  return change.right ? fmt::format("{:+.2f}", 100 * *change.right) : std::string("-");
}

std::vector<std::string> row_of(const QuantizerAnalysis& one) {
  const sensitivity::Watched& seen = one.seen;
  return {place_of(one.quantizer),
          fmt::format("{}", one.quantizer.bits),
          decibel_text(seen.alone.sqnr_db()),
          seen.reached ? decibel_text(seen.reached->sqnr_db()) : "-",
          fmt::format("{:.4f}", seen.alone.cosine()),
          fmt::format("{:.2f}", 100 * share_clipped(seen)),
          seen.unused ? fmt::format("{:.0f}", 100 * *seen.unused) : "-",
          seen.wasted ? fmt::format("{:.1f}", *seen.wasted) : "-",
          fmt::format("{:.1f}", seen.spread),
          fmt::format("{:+.4f}", one.alone.loss),
          points(one.alone),
          fmt::format("{:+.4f}", one.up_to.loss),
          points(one.up_to),
          fmt::format("{:+.4f}", one.without.loss),
          points(one.without),
          one.curvature ? fmt::format("{:.3g}", one.curvature->trace) : "-",
          one.curvature ? fmt::format("{:.2g}", one.curvature->score) : "-"};
}

std::string validation_text(const train::ValidationResult& validation_result, bool has_labels) {
  const std::string loss = fmt::format("loss {:.4f}", validation_result.loss);
  if (!validation_result.right) return loss;
  return fmt::format("{} {:.2f} %, {}", has_labels ? "accuracy" : "agreement", 100 * *validation_result.right, loss);
}

ordered_json to_json(const train::ValidationResult& validation_result, bool has_labels) {
  ordered_json json = {{"loss", validation_result.loss}};
  if (validation_result.right) json[has_labels ? "accuracy" : "agreement"] = *validation_result.right;
  return json;
}

ordered_json to_json(const Change& change, bool has_labels) {
  ordered_json json = {{"loss", change.loss}};
  if (change.right) json[has_labels ? "accuracy" : "agreement"] = *change.right;
  return json;
}

ordered_json ranges_of(const QuantizerAnalysis& one) {
  ordered_json ranges = ordered_json::array();
  for (const sensitivity::ObservedRange& range : one.ranges)
    ranges.push_back({{"observer", range.observer},
                      {"low", range.low},
                      {"high", range.high},
                      {"sqnr_db", decibel_json(range.sqnr_db)}});
  return ranges;
}

ordered_json channels_of(const sensitivity::Watched& seen) {
  ordered_json outliers = ordered_json::array();
  for (const sensitivity::Outlier& one : seen.outliers)
    outliers.push_back({{"channel", one.channel}, {"ratio", one.ratio}});
  return {{"spread", seen.spread}, {"outliers", outliers}};
}

ordered_json to_json(const QuantizerAnalysis& one, bool has_labels) {
  const sensitivity::Watched& seen = one.seen;
  const quant::AuditedQuantizer& quantizer = one.quantizer;
  ordered_json json = {{"quantizer", one.name},
                       {"place", place_of(quantizer)},
                       {"tensor", quantizer.tensor},
                       {"layer", quantizer.layer},
                       {"operator", quantizer.op},
                       {"is_weight", quantizer.is_weight},
                       {"bits", quantizer.bits},
                       {"observer", quantizer.observer},
                       {"scale", quantizer.scale},
                       {"zero_point", quantizer.zero_point},
                       {"elements", seen.elements},
                       {"low", seen.low},
                       {"high", seen.high},
                       {"code_low", seen.code_low},
                       {"code_high", seen.code_high},
                       {"sqnr_db", decibel_json(seen.alone.sqnr_db())},
                       {"cosine", seen.alone.cosine()},
                       {"clipped", share_clipped(seen)}};
  if (seen.unused) json["unused_codes"] = *seen.unused;
  if (seen.reached)
    json["cumulative"] = {{"sqnr_db", decibel_json(seen.reached->sqnr_db())}, {"cosine", seen.reached->cosine()}};
  if (seen.wasted) json["wasted_bits"] = *seen.wasted;
  json["is_badly_scaled"] = one.is_badly_scaled;
  json["alone"] = to_json(one.alone, has_labels);
  json["up_to"] = to_json(one.up_to, has_labels);
  json["without"] = to_json(one.without, has_labels);
  json["sensitivity"] = one.sensitivity;
  if (one.curvature) {
    json["hessian_trace"] = {{"mean", one.curvature->trace}, {"error", one.curvature->error}};
    json["gradient_score"] = one.curvature->score;
  }
  json["channels"] = channels_of(seen);
  json["observers"] = ranges_of(one);
  json["histogram"] = {{"low", seen.histogram.low}, {"high", seen.histogram.high}, {"counts", seen.histogram.counts}};
  json["suggestions"] = one.suggestions;
  return json;
}

std::string suggestions_of(const sensitivity::Analysis& analysis) {
  std::string text;
  for (const QuantizerAnalysis& one : analysis.quantizers) {
    for (const std::string& suggestion : one.suggestions)
      text += fmt::format("  {}: {}\n", place_of(one.quantizer), suggestion);
  }
  return text.empty()
             ? "no suggestions\n"
             : "suggestions (options of quantize), badly scaled quantizers first, then by sensitivity:\n" + text;
}

}  // namespace

std::string place_of(const quant::AuditedQuantizer& one) {
  const std::string inside = one.path.empty() ? "" : fmt::format(" in {}", one.path);
  if (one.is_weight) return "weights of " + one.layer + inside;
  return (one.layer.empty() ? fmt::format("input '{}'", one.tensor) : "activations of " + one.layer) + inside;
}

std::string as_text(const api::AnalyzeResult& analysis) {
  const sensitivity::Analysis& result = analysis.sensitivity;
  std::string text = fmt::format(
      "network {} on platform {}, {} samples of {}\nwithout quantizers {}\nwith quantizers    {}\ninteger codes      "
      "{}\n\n",
      analysis.network, analysis.platform, grouped(result.samples), analysis.part,
      validation_text(result.in_float, result.has_labels), validation_text(result.rounded, result.has_labels),
      validation_text(result.on_codes, result.has_labels));
  Table table({"quantizer", "bits", "SQNR dB", "with all", "cosine", "clipped %", "unused %", "wasted", "spread",
               "alone: loss", "points", "up to: loss", "points", "without: loss", "points", "Hessian", "gradients"});
  for (size_t i = 0; i < std::min(kMostRows, result.quantizers.size()); ++i) table.add(row_of(result.quantizers[i]));
  text += table.text();
  if (result.quantizers.size() > kMostRows)
    text += fmt::format("{} more with lower sensitivity: --json lists all\n", result.quantizers.size() - kMostRows);
  return text + "\n" + suggestions_of(result);
}

std::string as_json(const api::AnalyzeResult& analysis) {
  const sensitivity::Analysis& result = analysis.sensitivity;
  ordered_json json = {{"network", analysis.network},
                       {"platform", analysis.platform},
                       {"samples", result.samples},
                       {"part", analysis.part},
                       {"has_labels", result.has_labels},
                       {"in_float", to_json(result.in_float, result.has_labels)},
                       {"rounded", to_json(result.rounded, result.has_labels)},
                       {"on_codes", to_json(result.on_codes, result.has_labels)},
                       {"quantizers", ordered_json::array()}};
  for (const QuantizerAnalysis& one : result.quantizers) json["quantizers"].push_back(to_json(one, result.has_labels));
  json["notes"] = result.notes;
  return to_text(json);
}

}  // namespace halfstep::report
