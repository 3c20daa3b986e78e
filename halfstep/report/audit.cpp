#include "halfstep/report/audit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "halfstep/report/common/fallbacks.h"
#include "halfstep/report/common/json.h"
#include "halfstep/report/common/objects.h"
#include "halfstep/report/common/text_table.h"

namespace halfstep::report {
namespace {

using quant::AuditedQuantizer;
using quant::Requantization;

/// "0.5", or "0.5 to 2" if the values differ.
template <class T>
std::string span(T least, T most) {
  return least == most ? fmt::format("{:.4g}", least) : fmt::format("{:.4g} to {:.4g}", least, most);
}

/// "shift right by 5 to 7", or "x 0.0021 to 0.013".
std::string in_words(const Requantization& scaled) {
  const std::string what = scaled.what == "sums" ? "" : scaled.what + " ";
  if (!scaled.powers_of_two) return fmt::format("{}x {}", what, span(scaled.least, scaled.most));
  const int right_least = -std::ilogb(scaled.most), right_most = -std::ilogb(scaled.least);
  if (right_least == 0 && right_most == 0) return what + "unchanged";
  const bool is_left = right_most <= 0;
  const int first = is_left ? -right_most : right_least, last = is_left ? -right_least : right_most;
  return fmt::format("{}shift {} by {}{}", what, is_left ? "left" : "right", first,
                     first == last ? "" : fmt::format(" to {}", last));
}

std::string in_words(const std::vector<Requantization>& scaled) {
  std::vector<std::string> words;
  for (const Requantization& one : scaled) words.push_back(in_words(one));
  return fmt::format("{}", fmt::join(words, ", "));
}

bool was_observed(const AuditedQuantizer& quantizer) { return quantizer.low[0] <= quantizer.high[0]; }

/// The range of values that the codes of all channels represent together.
std::pair<float, float> range_of(const AuditedQuantizer& quantizer) {
  std::pair<float, float> range = {quantizer.least(0), quantizer.largest(0)};
  for (size_t c = 1; c < quantizer.scale.size(); ++c)
    range = {std::min(range.first, quantizer.least(c)), std::max(range.second, quantizer.largest(c))};
  return range;
}

/// How the quantizer trains, as a suffix to its numbers. "" for fixed quantizers.
std::string learning(const AuditedQuantizer& one) {
  if (one.quantizer == "fixed") return "";
  return one.quantizer == "lsq" ? ", learned" : ", " + one.quantizer;
}

/// "w8, scale 0.0012 to 0.034 (64 channels), learned".
std::string describe_weight(const AuditedQuantizer& weight) {
  const auto [least, most] = std::ranges::minmax(weight.scale);
  return fmt::format("w{}, scale {}{}{}", weight.bits, span(least, most),
                     weight.scale.size() > 1 ? fmt::format(" ({} channels)", weight.scale.size()) : "",
                     learning(weight));
}

std::string describe_codes(const AuditedQuantizer& codes) {
  return fmt::format("a{} {}..{}{}", codes.bits, codes.code_min, codes.code_max, learning(codes));
}

/// The range that the codes represent, or "not calibrated".
std::string describe_range(const AuditedQuantizer& codes) {
  if (!was_observed(codes)) return "not calibrated";
  const auto [least, most] = range_of(codes);
  return fmt::format("{:.4g} to {:.4g}", least, most);
}

std::vector<std::string> row_of(const AuditedQuantizer& codes, const AuditedQuantizer* weight) {
  const std::string op = !codes.op.empty() ? codes.op : codes.path.empty() ? "(input)" : "(from outside)";
  return {codes.layer.empty() ? codes.tensor : codes.layer,
          codes.activation == "none" ? op : op + " + " + codes.activation,
          weight == nullptr ? "" : describe_weight(*weight),
          describe_codes(codes),
          describe_range(codes),
          fmt::format("{:.6g}", codes.scale[0]),
          std::to_string(codes.zero_point[0]),
          in_words(codes.requantization),
          fmt::format("{}", fmt::join(codes.shares, ", "))};
}

nlohmann::ordered_json to_json(const AuditedQuantizer& quantizer) {
  auto scaled = nlohmann::ordered_json::array();
  for (const Requantization& one : quantizer.requantization)
    scaled.push_back({{"what", one.what}, {"least", one.least}, {"most", one.most}, {"words", in_words(one)}});
  auto ranges = nlohmann::ordered_json::array();
  for (size_t c = 0; c < quantizer.scale.size(); ++c)
    ranges.push_back({static_cast<double>(quantizer.least(c)), static_cast<double>(quantizer.largest(c))});
  using Json = nlohmann::ordered_json;
  return {{"kind", quantizer.is_weight ? "weight" : "activation"},
          {"tensor", quantizer.tensor},
          {"layer", quantizer.layer.empty() ? Json() : Json(quantizer.layer)},
          {"op", quantizer.op.empty() ? Json() : Json(quantizer.op)},
          {"inside", quantizer.path.empty() ? Json() : Json(quantizer.path)},
          {"activation", quantizer.activation},
          {"bits", quantizer.bits},
          {"code_type", quantizer.code_type},
          {"code_min", quantizer.code_min},
          {"code_max", quantizer.code_max},
          {"symmetric", quantizer.symmetric},
          {"power_of_two", quantizer.power_of_two},
          {"axis", quantizer.axis < 0 ? Json() : Json(quantizer.axis)},
          {"scale", quantizer.scale},
          {"zero_point", quantizer.zero_point},
          {"range", was_observed(quantizer) ? ranges : Json()},
          {"shares", quantizer.shares},
          {"observer", quantizer.observer},
          {"quantizer", quantizer.quantizer},
          {"requantization", scaled},
          {"reason", quantizer.reason}};
}

}  // namespace

std::string as_text(const quant::Audit& audit) {
  std::map<std::string, const AuditedQuantizer*> weights;
  for (const AuditedQuantizer& quantizer : audit.quantizers) {
    if (quantizer.is_weight) weights[quantizer.layer] = &quantizer;
  }
  std::vector<std::string> columns = {"layer", "operator", "weights",        "codes",      "range",
                                      "scale", "zero",     "requantization", "scale group"};
  const bool has_paths = std::ranges::any_of(audit.quantizers, [](const auto& one) { return !one.path.empty(); });
  if (has_paths) columns.push_back("inside");
  Table table(columns);
  for (const AuditedQuantizer& quantizer : audit.quantizers) {
    if (quantizer.is_weight) continue;
    const auto weight = weights.find(quantizer.layer);
    auto row = row_of(quantizer, weight == weights.end() ? nullptr : weight->second);
    if (has_paths) row.push_back(quantizer.path);
    table.add(std::move(row));
  }
  std::string text = table.text() + (audit.in_float.empty() ? "" : "\n" + as_text(audit.in_float));
  if (!audit.deviations.empty()) text += "\ndifferences from MQBench (--insert-as mqbench reproduces its placement):\n";
  for (const auto& [tensor, what] : audit.deviations) text += fmt::format("  {}: {}\n", tensor, what);
  return text;
}

namespace {

std::string sentence_of(const AuditedQuantizer& one) {
  std::string text = fmt::format("{}: {}{}{}\n", one.is_weight ? "weight, quantized" : "quantized", one.reason,
                                 one.path.empty() ? "" : ", in ", one.path);
  text += fmt::format("  codes      {} bits, {} to {} ({})\n", one.bits, one.code_min, one.code_max, one.code_type);
  const auto [least, most] = std::ranges::minmax(one.scale);
  text += fmt::format("  scale      {}{}, zero point {}{}\n", span(least, most),
                      one.axis < 0 ? "" : fmt::format(" ({} channels on axis {})", one.scale.size(), one.axis),
                      one.zero_point[0], one.power_of_two ? ", a power of two" : "");
  text += fmt::format("  range      {}; observer {}{}\n", describe_range(one), one.observer, learning(one));
  if (!one.layer.empty())
    text += fmt::format("  {} {} '{}'{}\n", one.is_weight ? "read by   " : "output of ", one.op, one.layer,
                        one.activation == "none" ? "" : " with fused " + one.activation);
  if (!one.requantization.empty()) text += fmt::format("  requantize {}\n", in_words(one.requantization));
  if (!one.shares.empty()) text += fmt::format("  same scale as {}\n", fmt::join(one.shares, ", "));
  return text;
}

}  // namespace

std::string as_text(const quant::TensorStory& story) {
  std::string text = story.tensor + "\n";
  for (const AuditedQuantizer* one : story.quantizers) text += sentence_of(*one);
  if (!story.has_codes_of.empty())
    text += fmt::format("has the codes of '{}', at other positions\n", story.has_codes_of);
  if (story.quantizers.empty() && story.has_codes_of.empty()) text += "has no quantizer\n";
  if (story.in_float != nullptr)
    text += fmt::format("computed in float by {} '{}': {}\n", story.in_float->op, story.in_float->layer,
                        story.in_float->reason);
  if (!story.goes_to.empty()) text += fmt::format("read by {}\n", fmt::join(story.goes_to, ", "));
  return text;
}

std::string as_json(const quant::TensorStory& story) {
  auto quantizers = nlohmann::ordered_json::array();
  for (const AuditedQuantizer* one : story.quantizers) quantizers.push_back(to_json(*one));
  using Json = nlohmann::ordered_json;
  return to_text({{"tensor", story.tensor},
                  {"quantizers", quantizers},
                  {"float", story.in_float == nullptr ? Json() : Json(story.in_float->reason)},
                  {"has_codes_of", story.has_codes_of.empty() ? Json() : Json(story.has_codes_of)},
                  {"goes_to", story.goes_to}});
}

nlohmann::ordered_json to_json(const quant::Audit& audit) {
  auto quantizers = nlohmann::ordered_json::array();
  for (const AuditedQuantizer& quantizer : audit.quantizers) quantizers.push_back(to_json(quantizer));
  auto deviations = nlohmann::ordered_json::array();
  for (const auto& [tensor, what] : audit.deviations) deviations.push_back({{"tensor", tensor}, {"what", what}});
  return {{"quantizers", quantizers}, {"float", list_of(audit.in_float)}, {"deviations", deviations}};
}

}  // namespace halfstep::report
