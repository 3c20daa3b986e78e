#include "halfstep/report/common/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "halfstep/data/datasets/image.h"
#include "halfstep/report/analysis.h"
#include "halfstep/report/common/decibels.h"
#include "halfstep/report/common/html.h"
#include "halfstep/report/common/json.h"
#include "halfstep/report/common/objects.h"
#include "halfstep/report/common/svg.h"
#include "halfstep/report/common/text_table.h"
#include "halfstep/report/verified.h"

namespace halfstep::report {
namespace {

using api::NetworkReport;
using nlohmann::ordered_json;
using sensitivity::QuantizerAnalysis;

constexpr const char* kPageStyle = R"(
nav a { margin-right: 1rem; } a { color: var(--mark); } a:focus-visible, summary:focus-visible, .wide:focus-visible
{ outline: 2px solid var(--mark); } .verdict { font-size: 1.25rem; border-left: 6px solid var(--mark); padding-left: .8rem; }
.verdict.fails { border-color: var(--bad); } .bar { fill: var(--mark); } .bar.bad { fill: none; stroke: var(--bad); }
.end { stroke: var(--ink); stroke-dasharray: 4 3; } .axis { fill: none; stroke: var(--line); }
.line { fill: none; stroke: var(--mark); stroke-width: 2; } .line.s1 { stroke: var(--bad); stroke-dasharray: 6 3; }
.line.s2 { stroke: var(--ink); stroke-dasharray: 2 2; } .dot { fill: var(--paper); stroke: var(--ink); }
.samples { display: flex; flex-wrap: wrap; gap: .8rem; } figure { margin: 0; width: 8.5rem; font-size: .85rem; }
figure img { width: 96px; image-rendering: pixelated; } summary { cursor: pointer; }
@media print { nav { display: none; } body { max-width: none; margin: 0; } .wide { overflow: visible; }
  table { font-size: .75rem; } h2 { break-after: avoid; } svg, figure, tr { break-inside: avoid; } }
pre { white-space: pre-wrap; }
@media (max-width: 40rem) { body { margin: .5rem auto; } td, th { padding: .1rem .35rem; } }
@media screen and (max-width: 40rem) { .wide svg { max-width: none; } }
)";

std::string code(std::string_view name) { return fmt::format("<code>{}</code>", escaped(name)); }

std::string section(const char* id, const char* title, const std::string& body) {
  return body.empty() ? "" : fmt::format("<h2 id=\"{}\">{}</h2>\n{}", id, title, body);
}

/// The analysis of a layer's own quantizers.
struct LayerParts {
  const QuantizerAnalysis *weights = nullptr, *activations = nullptr;
};

std::map<std::string, LayerParts> parts_by_layer(const NetworkReport& report) {
  std::map<std::string, LayerParts> parts;
  for (const QuantizerAnalysis& one : report.analysis.sensitivity.quantizers) {
    LayerParts& layer = parts[one.quantizer.layer];
    (one.quantizer.is_weight ? layer.weights : layer.activations) = &one;
  }
  return parts;
}

std::string percent(double share) { return fmt::format("{:.2f}", 100 * share); }

std::string clipped(const QuantizerAnalysis* one) {
  if (one == nullptr || one->seen.elements == 0) return "-";
  return percent(static_cast<double>(one->seen.clipped) / static_cast<double>(one->seen.elements));
}

/// Layer names in execution order, from the proof if there is one, otherwise from the audit.
std::vector<std::string> layer_names(const NetworkReport& report) {
  std::vector<std::string> names;
  if (report.proof) {
    for (const verify::LayerReport& layer : report.proof->layers) names.push_back(layer.layer.name);
    return names;
  }
  for (const quant::AuditedQuantizer& one : report.audited.audit.quantizers) {
    if (!one.layer.empty() && std::ranges::find(names, one.layer) == names.end()) names.push_back(one.layer);
  }
  return names;
}

const verify::LayerReport* proof_of(const NetworkReport& report, const std::string& layer) {
  if (!report.proof) return nullptr;
  const auto found = std::ranges::find(
      report.proof->layers, layer, [](const verify::LayerReport& one) -> const std::string& { return one.layer.name; });
  return found == report.proof->layers.end() ? nullptr : &*found;
}

/// The quantizers of a layer of the proof. Empty if the analysis has no layer with this name.
LayerParts parts_of(const std::map<std::string, LayerParts>& parts, const std::string& name) {
  const auto found = parts.find(name);
  return found == parts.end() ? LayerParts() : found->second;
}

std::string time_of(const NetworkReport& report, const std::string& layer) {
  const auto found = std::ranges::find(report.times, layer, &api::LayerTime::layer);
  return found == report.times.end() ? "-" : fmt::format("{:.1f}", found->microseconds);
}

std::string layers_section(const NetworkReport& report) {
  const auto parts = parts_by_layer(report);
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : layer_names(report)) {
    const LayerParts own = parts_of(parts, name);
    const verify::LayerReport* proof = proof_of(report, name);
    const QuantizerAnalysis* activations = own.activations;
    rows.push_back(
        {code(name),
         proof         ? escaped(proof->layer.op)
         : own.weights ? escaped(own.weights->quantizer.op)
                       : "-",
         own.weights ? std::to_string(own.weights->quantizer.bits) : "-",
         proof ? std::to_string(proof->layer.activation_bits) : "-",
         proof ? fmt::format("{:.4g}", proof->layer.scale) : "-", clipped(own.weights), clipped(activations),
         proof ? decibel_text(proof->sqnr_db) : "-",
         activations && activations->seen.reached ? fmt::format("{:.4f}", activations->seen.reached->cosine()) : "-",
         proof ? grouped(proof->differing + proof->parameters_differing) : "-", time_of(report, name)});
  }
  return html_table({"layer", "operator", "weight bits", "activation bits", "scale", "weights clipped %",
                     "activations clipped %", "SQNR dB", "cosine", "differing codes", "&micro;s"},
                    rows, 2);
}

std::string points(const std::optional<double>& right) {
  return right ? fmt::format("{:+.2f} points", 100 * *right) : "";
}

std::string sensitivity_section(const NetworkReport& report) {
  constexpr size_t kMost = 20;
  const auto& quantizers = report.analysis.sensitivity.quantizers;
  std::vector<Bar> bars;
  std::string suggestions;
  for (const QuantizerAnalysis& one : quantizers) {
    if (bars.size() < kMost)
      bars.push_back({place_of(one.quantizer), fmt::format("{:.4g} {}", one.sensitivity, points(one.alone.right)),
                      one.sensitivity});
    for (const std::string& suggestion : one.suggestions)
      suggestions += fmt::format("<li>{}: {}</li>\n", escaped(place_of(one.quantizer)), escaped(suggestion));
  }
  if (bars.empty()) return "";
  std::string text = fmt::format(
      "<p>Increase of the loss by each quantizer, on {} samples of {}. Points: change of {} by this quantizer alone. "
      "Badly scaled quantizers come first, whatever their sensitivity on these samples.</p>\n{}",
      grouped(report.analysis.sensitivity.samples), escaped(report.analysis.part),
      report.analysis.sensitivity.has_labels ? "accuracy" : "agreement with the float network",
      bar_plot(bars, "Sensitivity by quantizer"));
  return text + (suggestions.empty()
                     ? "<p>No suggestions.</p>\n"
                     : "<p>Suggestions, as options of <code>quantize</code>:</p>\n<ul>\n" + suggestions + "</ul>\n");
}

std::string histograms_section(const NetworkReport& report) {
  constexpr size_t kOpen = 2;
  std::string text =
      "<p>Heights are square roots of counts, so that tails are visible. Dashed lines are the ends of the "
      "representable "
      "range. Values of outlined bars are clipped.</p>\n";
  size_t count = 0;
  for (const QuantizerAnalysis& one : report.analysis.sensitivity.quantizers) {
    const std::string place = place_of(one.quantizer);
    text += fmt::format("<details{}><summary>{}, {} bits, {} % clipped</summary>\n{}</details>\n",
                        count++ < kOpen ? " open" : "", escaped(place), one.quantizer.bits, clipped(&one),
                        histogram_plot(one.seen.histogram, static_cast<double>(one.seen.code_low),
                                       static_cast<double>(one.seen.code_high), place));
  }
  return count == 0 ? "" : text;
}

std::string audit_section(const NetworkReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const quant::AuditedQuantizer& one : report.audited.audit.quantizers)
    rows.push_back({code(one.tensor), one.is_weight ? "weight" : "activation", escaped(one.reason),
                    escaped(one.quantizer), escaped(one.observer), std::to_string(one.bits)});
  std::string text = html_table({"tensor", "kind", "reason", "quantizer", "observer", "bits"}, rows, 5);
  if (report.audited.audit.in_float.empty()) return text;
  text += "<p>In float:</p>\n<ul>\n";
  for (const quant::FloatFallback& fallback : report.audited.audit.in_float)
    text += fmt::format("<li>{} ({}): {}</li>\n", code(fallback.layer), escaped(fallback.op), escaped(fallback.reason));
  return text + "</ul>\n";
}

std::string training_section(const NetworkReport& report) {
  if (!report.history || report.history->validation_results.empty()) return "";
  Series right{report.history->has_labels ? "accuracy" : "agreement", {}, {}}, loss{"loss", {}, {}};
  for (size_t epoch = 0; epoch < report.history->validation_results.size(); ++epoch) {
    const train::ValidationResult& validation_result = report.history->validation_results[epoch];
    const auto x = static_cast<double>(epoch);
    if (validation_result.right) {
      right.x.push_back(x);
      right.y.push_back(100 * *validation_result.right);
    }
    loss.x.push_back(x);
    loss.y.push_back(validation_result.loss);
  }
  std::string text = fmt::format("<p>On {} validation samples; kept: {}.</p>\n", grouped(report.history->samples),
                                 escaped(train::best_text(*report.history)));
  if (!right.x.empty()) text += line_plot({right}, "epoch", right.name + " %");
  return text + line_plot({loss}, "epoch", "loss");
}

std::string bits_section(const NetworkReport& report) {
  std::vector<Series> loss, right;
  for (const char* kind : {"front", "uniform", "chosen"}) {
    Series of_loss{kind, {}, {}}, of_right{kind, {}, {}};
    for (const api::TriedBitWidths& one : report.bit_widths) {
      if (one.kind != kind) continue;
      of_loss.x.push_back(one.bytes / 1000);
      of_loss.y.push_back(one.loss);
      if (!one.right) continue;
      of_right.x.push_back(one.bytes / 1000);
      of_right.y.push_back(100 * *one.right);
    }
    if (!of_loss.x.empty()) loss.push_back(of_loss);
    if (!of_right.x.empty()) right.push_back(of_right);
  }
  if (loss.empty()) return "";
  std::string text = line_plot(loss, "kilobytes", "distance to the float network");
  if (!right.empty()) text += line_plot(right, "kilobytes", "right %");
  std::vector<std::vector<std::string>> rows;
  for (const api::TriedBitWidths& one : report.bit_widths)
    rows.push_back({escaped(one.kind), escaped(one.what), grouped(static_cast<int64_t>(one.bytes)),
                    fmt::format("{:.4g}", one.loss), one.right ? percent(*one.right) : "-"});
  return text + html_table({"kind", "bit widths", "bytes", "distance", "right %"}, rows, 2);
}

std::string proof_section(const NetworkReport& report) {
  if (!report.proof) return fmt::format("<p>No proof: {}</p>\n", escaped(report.unproved));
  const verify::VerifyReport& proof = *report.proof;
  int64_t compared = 0, differing = 0, engine = 0, engine_differing = 0, semantics = 0, beyond = 0;
  for (const verify::LayerReport& layer : proof.layers) {
    compared += layer.compared + layer.parameters_compared;
    differing += layer.differing + layer.parameters_differing;
    engine += layer.engine_compared;
    engine_differing += layer.engine_differing;
    if (!layer.semantics) continue;
    semantics += layer.semantics->compared;
    beyond += layer.semantics->beyond;
  }
  std::vector<std::vector<std::string>> rows = {
      {"prepared model and integer program", grouped(compared), grouped(differing)},
      {"integer program and source model", grouped(semantics), grouped(beyond)}};
  if (engine > 0)
    rows.push_back({"integer program and " + escaped(report.with), grouped(engine), grouped(engine_differing)});
  return html_table({"execution paths", "codes compared", "differing"}, rows) +
         fmt::format("<pre>{}</pre>\n", escaped(verdict(proof)));
}

std::string worst_section(const NetworkReport& report) {
  if (report.worst.empty()) return "";
  std::string text = fmt::format(
      "<p>{} of {} samples have another answer than in float. Samples that are right in float come "
      "first.</p>\n<div class=\"samples\">\n",
      grouped(report.wrong), grouped(report.proof->samples));
  for (const api::WorstSample& one : report.worst) {
    const std::string said = fmt::format("sample {}: {}in float {}, in integers {}", one.index,
                                         one.label.empty() ? "" : one.label + "; ", one.in_float, one.on_codes);
    text += "<figure>";
    if (one.picture.size() > 0)
      text += fmt::format("<img alt=\"{}\" src=\"{}\">", escaped(said), png_address(data::encode_png(one.picture)));
    text += fmt::format("<figcaption>{}</figcaption></figure>\n", escaped(said));
  }
  return text + "</div>\n";
}

std::string validation_line(const NetworkReport& report) {
  const sensitivity::Analysis& result = report.analysis.sensitivity;
  const auto text = [&](const char* what, const train::ValidationResult& validation_result) {
    return validation_result.right ? fmt::format("{} {} %", what, percent(*validation_result.right))
                                   : fmt::format("{} loss {:.4g}", what, validation_result.loss);
  };
  return fmt::format("{} on {} samples of {}: {}, {}, {}",
                     result.has_labels ? "accuracy" : "agreement with the float network", grouped(result.samples),
                     report.analysis.part, text("without quantizers", result.in_float),
                     text("with quantizers", result.rounded), text("in integers", result.on_codes));
}

std::string verdict_text(const NetworkReport& report) {
  return report.proof ? sentence(*report.proof) : "no integer program, so no proof: " + report.unproved;
}

}  // namespace

std::string as_html(const NetworkReport& report) {
  struct Section {
    const char *id, *title;
    std::string body;
  };
  const std::vector<Section> sections = {{"layers", "Layers", layers_section(report)},
                                         {"sensitivity", "Sensitivity", sensitivity_section(report)},
                                         {"histograms", "Values and ranges", histograms_section(report)},
                                         {"audit", "Quantized tensors", audit_section(report)},
                                         {"bits", "Bit widths and costs", bits_section(report)},
                                         {"training", "Training", training_section(report)},
                                         {"proof", "Proof", proof_section(report)},
                                         {"samples", "Worst samples", worst_section(report)}};
  const bool holds = report.proof && report.proof->equal();
  std::string body = fmt::format(
      "<h1>{}</h1>\n<p>on platform {}</p>\n<p class=\"verdict{}\" id=\"verdict\">{}</p>\n<p "
      "id=\"validation_result\">{}</p>\n<nav>",
      escaped(report.analysis.network), escaped(report.analysis.platform), holds ? "" : " fails",
      escaped(verdict_text(report)), escaped(validation_line(report)));
  for (const Section& one : sections) {
    if (!one.body.empty()) body += fmt::format("<a href=\"#{}\">{}</a>", one.id, one.title);
  }
  body += "</nav>\n<main>\n";
  for (const Section& one : sections) body += section(one.id, one.title, one.body);
  for (const std::string& note : report.analysis.sensitivity.notes) body += fmt::format("<p>{}</p>\n", escaped(note));
  return html_page(report.analysis.network, kPageStyle, body + "</main>\n");
}

std::string as_json(const NetworkReport& report) {
  ordered_json json = {{"network", report.analysis.network},
                       {"platform", report.analysis.platform},
                       {"verdict", verdict_text(report)},
                       {"validation", validation_line(report)},
                       {"layers", layer_names(report)},
                       {"analysis", ordered_json::parse(as_json(report.analysis))},
                       {"proof", report.proof ? to_json(*report.proof) : ordered_json()}};
  if (report.history) json["training"] = ordered_json::parse(train::to_text(*report.history));
  for (const api::TriedBitWidths& one : report.bit_widths)
    json["bit_widths"].push_back({{"kind", one.kind}, {"what", one.what}, {"bytes", one.bytes}, {"loss", one.loss}});
  json["times"] = ordered_json::array();
  for (const api::LayerTime& one : report.times)
    json["times"].push_back({{"layer", one.layer}, {"microseconds", one.microseconds}});
  json["wrong"] = report.wrong;
  json["worst"] = ordered_json::array();
  for (const api::WorstSample& one : report.worst)
    json["worst"].push_back(
        {{"sample", one.index}, {"label", one.label}, {"in_float", one.in_float}, {"on_codes", one.on_codes}});
  return to_text(json);
}

std::string as_text(const NetworkReport& report) {
  return fmt::format("{}\n{}\n", verdict_text(report), validation_line(report));
}

}  // namespace halfstep::report
