#include "halfstep/report/board.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "halfstep/report/common/decibels.h"
#include "halfstep/report/common/json.h"
#include "halfstep/report/common/text_table.h"

namespace halfstep::report {
namespace {

using board::Comparison;
using board::Guess;
using board::State;
using board::ValueComparison;

std::string place_text(const board::Place& place) {
  std::string indices;
  for (const auto& [layout, index] : place.indices) indices += fmt::format(", {} {}", layout, index);
  return fmt::format("at {}: {} and {} (sample {}{})", to_string(place.position), place.first, place.second,
                     place.sample, indices);
}

/// The result of applying the guess, for example "with this correction, 0 of 4096 differ".
std::string proof_text(const Guess& guess, const ValueComparison& value) {
  switch (guess.proof) {
    case board::Proof::exact: {
      const std::string all = fmt::format("with this correction, {} of {} differ", guess.differing, guess.compared);
      return guess.left > 0 ? all + fmt::format("; it predicts nothing for the others") : all;
    }
    case board::Proof::near: return fmt::format("with this correction, all {} are within one code", guess.compared);
    case board::Proof::partial:
      return fmt::format("with this correction, {} of {} differ, instead of {}", guess.differing, guess.compared,
                         value.differing);
    case board::Proof::place: break;
  }
  return guess.differing == 0 ? "it explains the positions of all that differ"
                              : fmt::format("it explains the positions of all but {} that differ", guess.differing);
}

std::string first_text(const Comparison& comparison) {
  const ValueComparison& value = comparison.values[*comparison.differing];
  std::string text = fmt::format("first difference: '{}'", value.name);
  if (value.what != "activation") text += fmt::format(" ({} of layer '{}')", value.what, value.layer);
  if (!value.op.empty()) text += fmt::format(", {}", value.op);
  if (value.state == State::other_size) return text + ": the sizes differ\n";
  text += fmt::format(": {} of {} elements, by at most {}, {} dB\n", grouped(value.differing), grouped(value.elements),
                      value.largest, decibel_text(value.sqnr_db));
  if (value.place) text += "  " + place_text(*value.place) + "\n";
  return text;
}

std::string guesses_text(const Comparison& comparison) {
  const ValueComparison& value = comparison.values[*comparison.differing];
  std::string text;
  for (const Guess& guess : comparison.guesses)
    text += fmt::format("{} {}: {}\n", text.empty() ? "most likely" : "or", guess.sentence, proof_text(guess, value));
  if (text.empty()) text = "no known cause explains it\n";
  if (!comparison.undiagnosed.empty()) text += fmt::format("note: {}\n", comparison.undiagnosed);
  return text;
}

const char* word(board::Proof proof) {
  static constexpr const char* kWords[] = {"exact", "place", "near", "partial"};
  return kWords[static_cast<size_t>(proof)];
}

/// A number, or null if it is not finite, because JSON has no infinity.
nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json json_of(const ValueComparison& value) {
  nlohmann::ordered_json json = {{"name", value.name},
                                 {"layer", value.layer},
                                 {"op", value.op},
                                 {"what", value.what},
                                 {"state", std::string(board::name(value.state))}};
  if (!value.second_name.empty()) json["second_name"] = value.second_name;
  if (value.state == State::missing || value.state == State::extra) return json;
  json["elements"] = value.elements;
  json["differing"] = value.differing;
  json["largest"] = number(value.largest);
  json["sqnr_db"] = number(value.sqnr_db);
  if (value.place) {
    json["first"] = {{"position", value.place->position},
                     {"sample", value.place->sample},
                     {"values", {number(value.place->first), number(value.place->second)}}};
    for (const auto& [layout, index] : value.place->indices) json["first"]["index"][layout] = index;
  }
  return json;
}

int64_t count(const Comparison& comparison, State state) {
  return std::ranges::count(comparison.values, state, &ValueComparison::state);
}

}  // namespace

std::string as_text(const board::Manifest& manifest) {
  Table table({"value", "of", "operator", "type", "layout", "bytes", "file"});
  int64_t bytes = 0;
  for (const board::Entry& entry : manifest.entries) {
    bytes += entry.bytes;
    table.add({entry.name, entry.is_activation() ? "" : entry.what, entry.op, to_string(entry.type),
               board::describe(entry.layout), std::to_string(entry.bytes), entry.file});
  }
  return fmt::format("{}\n{} values of network '{}' ({}, {}) on {} sample{}, {} bytes\n", table.text(),
                     manifest.entries.size(), manifest.network, manifest.stage, manifest.path, manifest.samples,
                     manifest.samples == 1 ? "" : "s", grouped(bytes));
}

std::string as_json(const board::Manifest& manifest) { return board::to_text(manifest); }

std::string sentence(const Comparison& comparison) {
  int64_t elements = 0;
  for (const auto& value : comparison.values) elements += value.state == State::equal ? value.elements : 0;
  const int64_t equal = count(comparison, State::equal), differ = count(comparison, State::differs),
                size = count(comparison, State::other_size), missing = count(comparison, State::missing),
                extra = count(comparison, State::extra);
  if (comparison.equal()) return fmt::format("equal: {} values, {} elements, 0 differ", equal, grouped(elements));
  std::string text = fmt::format("{} of {} values differ", differ + size, comparison.values.size());
  if (missing > 0) text += fmt::format(", {} missing in {}", missing, comparison.second);
  if (extra > 0) text += fmt::format(", {} only in {}", extra, comparison.second);
  return text;
}

std::string as_text(const Comparison& comparison) {
  std::string text;
  for (const std::string& note : comparison.notes) text += fmt::format("note: {}\n", note);
  Table table({"value", "operator", "elements", "differing", "largest", "SQNR dB", "state"});
  bool any = false;
  for (const ValueComparison& value : comparison.values) {
    const bool renamed = !value.second_name.empty();
    if (value.state == State::equal && !renamed) continue;
    any = true;
    const bool there = value.state == State::equal || value.state == State::differs;
    const std::string state = renamed ? fmt::format("{}, named '{}' there", board::name(value.state), value.second_name)
                                      : std::string(board::name(value.state));
    table.add({value.name, value.op, there ? std::to_string(value.elements) : "-",
               there ? std::to_string(value.differing) : "-", there ? fmt::format("{:.6g}", value.largest) : "-",
               there ? decibel_text(value.sqnr_db) : "-", state});
  }
  if (any) text += table.text() + "\n";
  if (comparison.differing) text += first_text(comparison) + guesses_text(comparison) + "\n";
  return text + sentence(comparison) + "\n";
}

std::string as_json(const Comparison& comparison) {
  nlohmann::ordered_json json = {{"equal", comparison.equal()},
                                 {"verdict", sentence(comparison)},
                                 {"first", comparison.first},
                                 {"second", comparison.second},
                                 {"network", comparison.network}};
  json["differs"] = comparison.differing ? nlohmann::ordered_json(comparison.values[*comparison.differing].name)
                                         : nlohmann::ordered_json(nullptr);
  json["guesses"] = nlohmann::ordered_json::array();
  for (const Guess& guess : comparison.guesses)
    json["guesses"].push_back({{"name", guess.name},
                               {"sentence", guess.sentence},
                               {"proof", word(guess.proof)},
                               {"differing", guess.differing},
                               {"compared", guess.compared}});
  if (!comparison.undiagnosed.empty()) json["undiagnosed"] = comparison.undiagnosed;
  json["notes"] = comparison.notes;
  json["values"] = nlohmann::ordered_json::array();
  for (const ValueComparison& value : comparison.values) json["values"].push_back(json_of(value));
  return to_text(json);
}

}  // namespace halfstep::report
