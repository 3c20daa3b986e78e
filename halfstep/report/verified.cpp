#include "halfstep/report/verified.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "halfstep/report/common/decibels.h"
#include "halfstep/report/common/json.h"
#include "halfstep/report/common/objects.h"
#include "halfstep/report/common/text_table.h"

namespace halfstep::report {
namespace {

std::string bits(const verify::Layer& layer) {
  return layer.weight_bits ? fmt::format("w{} a{}", *layer.weight_bits, layer.activation_bits)
                           : fmt::format("a{}", layer.activation_bits);
}

/// Whether an external engine took part in the comparison.
bool has_engine(const verify::VerifyReport& report) {
  return !report.layers.empty() && report.layers.front().engine_compared > 0;
}

/// Names of the two execution paths that differ.
struct Pair {
  const char* first = "training path";
  const char* second = "integer program";
};

/// "while 'loop', iteration 2: layer 'conv'".
template <class Fault>
std::string name_of(const verify::LayerReport& report, const Fault& fault) {
  return fmt::format("{}{}layer '{}'", fault.path, fault.path.empty() ? "" : ": ", report.layer.name);
}

/// " (sample 3", or " (in the batch from sample 64 on" inside a region.
template <class Fault>
std::string place_of(const Fault& fault) {
  return fault.path.empty() ? fmt::format(" (sample {}", fault.sample)
                            : fmt::format(" (in the batch from sample {} on", fault.sample);
}

std::string describe(const verify::LayerReport& report, const verify::Difference& difference, const Pair& pair = {}) {
  if (difference.what == "count")
    return fmt::format("{}: iteration counts differ: {} computed {} elements, {} {}{})", name_of(report, difference),
                       pair.first, difference.first, pair.second, difference.second, place_of(difference));
  std::string text =
      fmt::format("{}: {} code {} at {}: {} {}, {} {}", name_of(report, difference), difference.what, difference.index,
                  to_string(difference.position), pair.first, difference.first, pair.second, difference.second);
  if (difference.what != "activation") return text;
  text += place_of(difference);
  if (difference.position.size() == 3)
    text += fmt::format(", NCHW index {}, NHWC index {}", difference.index, difference.nhwc);
  return text + ")";
}

/// A mismatch of the semantic check, with the value of the source model, for example "conv2d 'c' {...} computes 0.25".
std::string describe(const verify::LayerReport& report, const verify::SemanticFault& fault) {
  std::string text =
      fmt::format("{}: {} code {} at {}: integer program {}, source model {}: {}{} {}", name_of(report, fault),
                  fault.what, fault.index, to_string(fault.position), fault.found, fault.expected, fault.says,
                  fault.what == "activation" ? " computes" : " is", fault.real);
  if (fault.what != "activation") return text;
  text += place_of(fault);
  if (fault.nhwc >= 0) text += fmt::format(", NCHW index {}, NHWC index {}", fault.index, fault.nhwc);
  return text + ")";
}

/// The result of the semantic check. "" if it did not run.
std::string semantic_verdict(const verify::VerifyReport& report) {
  if (!report.unchecked.empty()) return fmt::format("semantics not checked: {}\n", report.unchecked);
  if (!report.floats) return "";
  std::string text;
  int64_t compared = 0, near_ties = 0, beyond = 0;
  for (const auto& layer : report.layers) {
    if (!layer.semantics) continue;
    compared += layer.semantics->compared;
    near_ties += layer.semantics->near_ties;
    beyond += layer.semantics->beyond;
    if (layer.semantics->first) text += describe(layer, *layer.semantics->first) + "\n";
  }
  for (const auto& fault : report.floats->faults)
    text +=
        fmt::format("value '{}': element {} of the float network is {} in the prepared model, {} in the source model\n",
                    fault.value, fault.index, fault.found, fault.expected);
  if (!report.floats->structure.empty())
    text += fmt::format("the prepared network {}, unlike the source model after the same rewriting\n",
                        report.floats->structure);
  return text +
         fmt::format(
             "semantics: {} codes compared with the source model over {} samples, {} near ties, {} out of tolerance\n",
             compared, report.semantic_samples, near_ties, beyond);
}

/// The result of the check of a whole batch against the source model. "" if it passed or did not run.
std::string whole_verdict(const verify::VerifyReport& report) {
  std::string text;
  if (!report.whole || report.whole->holds()) return text;
  const verify::WholeNetwork& whole = *report.whole;
  if (whole.index)
    text +=
        fmt::format("index '{}': element {} is {} in the integer program, {} in the source model ({} of {} differ)\n",
                    whole.index->value, whole.index->index, whole.index->found, whole.index->expected, whole.differing,
                    whole.integers);
  if (whole.sample)
    text += fmt::format(
        "output '{}' of sample {} depends on the other samples of its batch: relative distance {:.3g} to the output of "
        "the "
        "sample alone. In the source model both are equal ({} of {} samples)\n",
        whole.sample->output, whole.sample->sample, whole.sample->difference, whole.moved, whole.batch);
  return text;
}

nlohmann::ordered_json json_of(const verify::WholeNetwork& whole) {
  nlohmann::ordered_json json = {{"holds", whole.holds()},
                                 {"batch", whole.batch},
                                 {"integers", whole.integers},
                                 {"differing", whole.differing},
                                 {"moved", whole.moved}};
  if (whole.index)
    json["first_integer"] = {{"value", whole.index->value},
                             {"index", whole.index->index},
                             {"integer", whole.index->found},
                             {"source", whole.index->expected}};
  if (whole.sample)
    json["first_moved"] = {
        {"output", whole.sample->output}, {"sample", whole.sample->sample}, {"difference", whole.sample->difference}};
  return json;
}

/// The part of the outputs with the lowest SQNR, if it is below verify::kPoorPart.
std::string poor_part(const std::vector<verify::OutputPart>& parts) {
  const verify::OutputPart* const worst = verify::worst_of(parts);
  if (worst == nullptr || !(worst->sums.sqnr_db() < verify::kPoorPart)) return "";
  std::string text = fmt::format("worst part: {}: SQNR {:.1f} dB", verify::name_of(*worst), worst->sums.sqnr_db());
  int64_t along = 0, poor = 0;
  for (const verify::OutputPart& part : parts) {
    if (part.output != worst->output || part.axis != worst->axis) continue;
    ++along;
    poor += part.sums.sqnr_db() < verify::kPoorPart ? 1 : 0;
  }
  if (worst->axis >= 0) text += fmt::format("; {} of {} parts are below {:.0f} dB", poor, along, verify::kPoorPart);
  return text + "\n";
}

/// The similarity of the outputs to the float network.
std::string outputs_verdict(const verify::VerifyReport& report) {
  std::string text = "outputs: ";
  text += std::isfinite(report.cosine) ? fmt::format("cosine {:.6f} to the float network", report.cosine)
                                       : "no cosine to the float network, because values are infinite or NaN";
  if (report.agreement) text += fmt::format(", the same answer for {:.2f} % of the samples", 100 * *report.agreement);
  return text + "\n" + poor_part(report.parts);
}

/// Accuracy of the integer program and of the float network.
std::string worth(const verify::VerifyReport& report) {
  if (report.accuracy)
    return fmt::format("; {:.1f} % accuracy, float {:.1f} %", 100 * report.accuracy->integer,
                       100 * report.accuracy->unquantized);
  return report.agreement ? fmt::format("; the same answer as the float network for {:.1f} % of the samples",
                                        100 * *report.agreement)
                          : "";
}

nlohmann::ordered_json json_of(const verify::SemanticFault& fault) {
  return {{"what", fault.what},         {"index", fault.index},   {"nhwc_index", fault.nhwc}, {"sample", fault.sample},
          {"position", fault.position}, {"integer", fault.found}, {"source", fault.expected}, {"real", fault.real},
          {"operator", fault.says},     {"inside", fault.path}};
}

nlohmann::ordered_json json_of(const verify::Semantics& semantics) {
  nlohmann::ordered_json json = {{"compared", semantics.compared},
                                 {"near_ties", semantics.near_ties},
                                 {"beyond", semantics.beyond},
                                 {"largest", semantics.largest}};
  if (semantics.first) json["first"] = json_of(*semantics.first);
  return json;
}

nlohmann::ordered_json json_of(const verify::FloatReport& floats) {
  auto faults = nlohmann::ordered_json::array();
  for (const auto& fault : floats.faults)
    faults.push_back(
        {{"value", fault.value}, {"index", fault.index}, {"prepared", fault.found}, {"source", fault.expected}});
  return {{"values", floats.values},
          {"compared", floats.compared},
          {"faults", std::move(faults)},
          {"structure", floats.structure},
          {"trained", floats.trained}};
}

nlohmann::ordered_json json_of(const verify::Difference& difference, const char* first = "training",
                               const char* second = "integer") {
  return {{"what", difference.what},     {"index", difference.index},       {"nhwc_index", difference.nhwc},
          {"sample", difference.sample}, {"position", difference.position}, {first, difference.first},
          {second, difference.second},   {"inside", difference.path}};
}

nlohmann::ordered_json json_of(const verify::OutputPart& part) {
  return {{"sqnr_db", decibel_json(part.sums.sqnr_db())}, {"cosine", part.sums.cosine()}};
}

/// Each output as a whole, with its worst part along an axis.
nlohmann::ordered_json json_of(const std::vector<verify::OutputPart>& parts) {
  auto outputs = nlohmann::ordered_json::array();
  for (const verify::OutputPart& whole : parts) {
    if (whole.axis >= 0) continue;
    std::vector<verify::OutputPart> along;
    std::ranges::copy_if(parts, std::back_inserter(along),
                         [&](const verify::OutputPart& part) { return part.output == whole.output && part.axis >= 0; });
    auto& json = outputs.emplace_back(json_of(whole));
    json["name"] = whole.output;
    const verify::OutputPart* const worst = verify::worst_of(along);
    if (worst == nullptr) continue;
    json["worst"] = json_of(*worst);
    json["worst"].update({{"axis", worst->axis}, {"index", worst->index}});
  }
  return outputs;
}

/// "add3 (412 samples), conv7 (3 samples) and 5 more".
std::string beginnings(const verify::VariantReport& variant) {
  constexpr size_t kShown = 3;
  std::vector<std::string> shown;
  for (const auto& [layer, samples] : variant.begins) {
    if (shown.size() < kShown) shown.push_back(fmt::format("{} ({} samples)", layer, samples));
  }
  const std::string text = fmt::format("{}", fmt::join(shown, ", "));
  return variant.begins.size() > kShown ? fmt::format("{} and {} more", text, variant.begins.size() - kShown) : text;
}

nlohmann::ordered_json json_of(const verify::VariantReport& variant) {
  auto begins = nlohmann::ordered_json::array();
  for (const auto& [layer, samples] : variant.begins) begins.push_back({{"layer", layer}, {"samples", samples}});
  return {{"name", variant.name},
          {"compared", variant.compared},
          {"differing", variant.differing},
          {"largest", variant.largest},
          {"begins", std::move(begins)}};
}

nlohmann::ordered_json json_of(const verify::LayerReport& report, bool with_engine) {
  const auto& weight_bits = report.layer.weight_bits;
  nlohmann::ordered_json json = {{"name", report.layer.name},
                                 {"op", report.layer.op},
                                 {"weight_bits", weight_bits ? nlohmann::ordered_json(*weight_bits) : nullptr},
                                 {"activation_bits", report.layer.activation_bits},
                                 {"scale", static_cast<double>(report.layer.scale)},
                                 {"sqnr_db", decibel_json(report.sqnr_db)},
                                 {"compared", report.compared},
                                 {"differing", report.differing},
                                 {"parameters_compared", report.parameters_compared},
                                 {"parameters_differing", report.parameters_differing}};
  if (!report.layer.path.empty()) json["inside"] = report.layer.path;
  if (with_engine) {
    json["engine_compared"] = report.engine_compared;
    json["engine_differing"] = report.engine_differing;
  }
  if (report.parameter) json["first_parameter"] = json_of(*report.parameter);
  if (report.activation) json["first_activation"] = json_of(*report.activation);
  if (report.engine) json["first_engine"] = json_of(*report.engine, "integer", "engine");
  if (report.semantics) json["semantics"] = json_of(*report.semantics);
  return json;
}

}  // namespace

std::string layers_table(const verify::VerifyReport& report) {
  const bool engine = has_engine(report);
  std::vector<std::string> columns = {"layer",     "operator",         "bits",   "scale", "compared", "differing",
                                      "near ties", "out of tolerance", "SQNR dB"};
  if (engine) columns.push_back("engine differing");
  const bool has_paths =
      std::ranges::any_of(report.layers, [](const auto& layer) { return !layer.layer.path.empty(); });
  if (has_paths) columns.push_back("inside");
  Table table(columns);
  for (const auto& layer : report.layers) {
    std::vector<std::string> row = {layer.layer.name,
                                    layer.layer.op,
                                    bits(layer.layer),
                                    fmt::format("{:.6g}", layer.layer.scale),
                                    std::to_string(layer.compared),
                                    std::to_string(layer.differing + layer.parameters_differing),
                                    layer.semantics ? std::to_string(layer.semantics->near_ties) : "-",
                                    layer.semantics ? std::to_string(layer.semantics->beyond) : "-",
                                    decibel_text(layer.sqnr_db)};
    if (engine) row.push_back(std::to_string(layer.engine_differing));
    if (has_paths) row.push_back(layer.layer.path);
    table.add(row);
  }
  return table.text();
}

std::string sentence(const verify::VerifyReport& report) {
  int64_t compared = 0, differing = 0, engine = 0;
  for (const auto& layer : report.layers) {
    compared += layer.compared + layer.parameters_compared;
    differing += layer.differing + layer.parameters_differing;
    engine += layer.engine_differing;
  }
  const std::string codes = fmt::format("({} of {} codes differ)", grouped(differing), grouped(compared));
  if (differing > 0)
    return fmt::format("the integer program differs from the prepared model {}{}", codes, worth(report));
  const std::string text = fmt::format("the integer program equals the prepared model {}", codes);
  if (engine > 0) return fmt::format("{}, but {} codes differ from the engine{}", text, grouped(engine), worth(report));
  if (report.whole && !report.whole->holds())
    return fmt::format("{}, but {} differ from the source model on a whole batch{}", text,
                       report.whole->differing > 0 ? "indices" : "samples", worth(report));
  if (!report.equal())
    return fmt::format("{}, but the semantic check against the source model failed{}", text, worth(report));
  return text + worth(report);
}

std::string verdict(const verify::VerifyReport& report) {
  int64_t compared = 0;
  std::string text;
  bool activations_differ = false;
  for (const auto& layer : report.layers) {
    compared += layer.compared + layer.parameters_compared;
    if (layer.parameter) text += describe(layer, *layer.parameter) + "\n";
  }
  for (const auto& layer : report.layers) {
    if (!layer.activation || activations_differ) continue;
    activations_differ = true;
    text += "first differing activation: " + describe(layer, *layer.activation) + "\n";
  }
  const verify::LayerReport* const first = report.first_of_engine();
  if (first != nullptr)
    text += "first differing activation: " + describe(*first, *first->engine, {"integer program", "engine"}) + "\n";
  const bool differ = activations_differ || first != nullptr;
  if (text.empty()) {
    text = fmt::format("equal: {} codes of {} layers over {} samples, 0 differ{}\n", compared, report.layers.size(),
                       report.samples, has_engine(report) ? " on three paths" : "");
  } else if (!differ) {
    text += "no activation code differs\n";
  }
  return text + semantic_verdict(report) + whole_verdict(report) + outputs_verdict(report) + "\n" + sentence(report) +
         "\n";
}

std::string variants_table(const verify::VerifyReport& report) {
  if (report.variants.empty()) return "";
  Table table({"engine variant", "codes", "differing", "share", "largest", "first difference in"});
  for (const auto& variant : report.variants) {
    const double share = variant.compared > 0
                             ? 100.0 * static_cast<double>(variant.differing) / static_cast<double>(variant.compared)
                             : 0.0;
    table.add({variant.name, std::to_string(variant.compared), std::to_string(variant.differing),
               fmt::format("{:.4f} %", share), std::to_string(variant.largest), beginnings(variant)});
  }
  return "\n" + table.text();
}

std::string as_text(const verify::VerifyReport& report) {
  return fmt::format("{}\n{}{}", layers_table(report), verdict(report), variants_table(report));
}

nlohmann::ordered_json to_json(const verify::VerifyReport& report) {
  nlohmann::ordered_json json;
  json["equal"] = report.equal();
  json["samples"] = report.samples;
  json["cosine"] = report.cosine;
  json["outputs"] = json_of(report.parts);
  if (report.agreement) json["agreement"] = *report.agreement;
  if (report.accuracy)
    json["accuracy"] = {{"float", report.accuracy->unquantized}, {"integer", report.accuracy->integer}};
  json["verdict"] = sentence(report);
  if (!report.unchecked.empty()) json["semantics_unchecked"] = report.unchecked;
  json["notes"] = report.notes;
  if (report.floats) json["floats"] = json_of(*report.floats);
  if (report.whole) json["whole_network"] = json_of(*report.whole);
  json["layers"] = nlohmann::ordered_json::array();
  for (const auto& layer : report.layers) json["layers"].push_back(json_of(layer, has_engine(report)));
  for (const auto& variant : report.variants) json["variants"].push_back(json_of(variant));
  return json;
}

std::string as_json(const verify::VerifyReport& report) { return to_text(to_json(report)); }

}  // namespace halfstep::report
