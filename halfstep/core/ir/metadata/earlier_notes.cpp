#include "halfstep/core/ir/metadata/earlier_notes.h"

#include <charconv>
#include <sstream>

#include "halfstep/core/ir/metadata/json_archive.h"

namespace halfstep::detail {
namespace {

constexpr std::string_view kTable = "table.";

/// Reads a note that holds the field's JSON.
template <auto Field>
void take_json(Metadata& metadata, const std::string& text, const std::string& where) {
  read(parse_json(text, where), where, metadata.*Field);
}

template <auto Field>
void take_text(Metadata& metadata, const std::string& text, const std::string& /*where*/) {
  metadata.*Field = text;
}

void take_platform(Metadata& metadata, const std::string& text, const std::string& /*where*/) {
  metadata.platform = PlatformRecord(text);
}

/// Lines of our name, a tab, and the file's name.
void take_given_names(Metadata& metadata, const std::string& text, const std::string& where) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) refuse_value(line, where, "two names with a tab between them");
    add_given_name(metadata.given_names, line.substr(0, tab), line.substr(tab + 1));
  }
}

/// Quoted names with commas between them. Bytes outside ASCII were written as escapes that JSON does not have. They
/// stay unchanged.
void take_quantizers(Metadata& metadata, const std::string& text, const std::string& where) {
  std::string list = text;
  for (size_t at = 0; (at = list.find("\\x", at)) != std::string::npos; at += 3) list.insert(at, 1, '\\');
  read(parse_json("[" + list + "]", where), where, metadata.quantizers_as_arithmetic);
}

/// For each value: a list of scale, zero point, least and largest code.
void take_code_formats(Metadata& metadata, const std::string& text, const std::string& where) {
  const Json formats = parse_json(text, where);
  if (!formats.is_object()) refuse_value(formats, where, "an object");
  for (const auto& [name, codes] : formats.items()) {
    if (!codes.is_array() || codes.size() != 4) refuse_value(codes, where, "a list of four numbers");
    ValueCodes& format = metadata.code_formats[name];
    read(codes[0], where, format.scale);
    read(codes[1], where, format.zero_point);
    read(codes[2], where, format.code_min);
    read(codes[3], where, format.code_max);
  }
}

TableOrigin table_origin(const std::string& text, const std::string& where) {
  TableOrigin origin;
  std::istringstream words(text);
  words >> origin.function >> origin.alpha >> origin.x_scale >> origin.x_zero_point >> origin.y_scale >>
      origin.y_zero_point;
  if (!words) refuse_value(text, where, "a function with its number and the codes of two sides");
  return origin;
}

// Notes of a training run.

TrainingRun& run_of(Metadata& metadata) {
  return metadata.training_run ? *metadata.training_run : metadata.training_run.emplace();
}

template <auto Field>
void take_run_text(Metadata& metadata, const std::string& text, const std::string& /*where*/) {
  run_of(metadata).*Field = text;
}

void take_epoch(Metadata& metadata, const std::string& text, const std::string& where) {
  read(parse_json(text, where), where, run_of(metadata).epoch);
}

/// Format: DIGEST NAME.
void take_data(Metadata& metadata, const std::string& text, const std::string& /*where*/) {
  const size_t space = std::min(text.find(' '), text.size());
  run_of(metadata).data_digest = text.substr(0, space);
  run_of(metadata).data_name = text.substr(std::min(space + 1, text.size()));
}

/// Format: lines NAME: VALUE.
void take_settings(Metadata& metadata, const std::string& text, const std::string& where) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) refuse_value(line, where, "a name and a value with ': ' between them");
    run_of(metadata).settings.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
}

/// Earlier notes called `right` "accuracy" or "agreement". They also stored ended_below, which is now derived.
Json standing_of_note(Json standing, const std::string& where) {
  if (!standing.is_object()) refuse_value(standing, where, "an object");
  for (const char* key : {"accuracy", "agreement"}) {
    if (standing.contains(key)) standing["right"] = standing[key];
    standing.erase(key);
  }
  return standing;
}

void take_course(Metadata& metadata, const std::string& text, const std::string& where) {
  Json course = parse_json(text, where);
  if (!course.is_object() || !course.contains("standings") || !course["standings"].is_array())
    refuse_value(course, where, "an object with 'standings'");
  for (Json& standing : course["standings"]) standing = standing_of_note(standing, where);
  if (course.contains("teacher")) course["teacher"] = standing_of_note(course["teacher"], where);
  course.erase("ended_below");
  read(course, where, run_of(metadata).history);
}

struct Note {
  const char* key;
  void (*take)(Metadata& metadata, const std::string& text, const std::string& where);
};

constexpr Note kNotes[] = {
    {"platform", take_platform},
    {"input.preprocess", take_json<&Metadata::preprocess>},
    {"given_names", take_given_names},
    {"quantizers_as_arithmetic", take_quantizers},
    {"closed_extents", take_text<&Metadata::closed_extents>},
    {"float_operators", take_json<&Metadata::float_operators>},
    {"quantizer_reasons", take_json<&Metadata::quantizer_reasons>},
    {"deviations", take_json<&Metadata::deviations>},
    {"edge_scales", take_json<&Metadata::first_last_scales>},
    {"normalizations", take_json<&Metadata::normalizations>},
    {"learned_quantizers", take_json<&Metadata::learned_quantizers>},
    {"calibrated_lengths", take_json<&Metadata::calibrated_lengths>},
    {"code_formats", take_code_formats},
    {"train.epoch", take_epoch},
    {"train.network", take_run_text<&TrainingRun::network>},
    {"train.start", take_run_text<&TrainingRun::start>},
    {"train.data", take_data},
    {"train.settings", take_settings},
    {"train.course", take_course},
    {"train.live", take_run_text<&TrainingRun::live>},
    {"train.average", take_run_text<&TrainingRun::average>},
    {"train.best", take_run_text<&TrainingRun::best>},
    {"repair.run", take_text<&Metadata::repair_run>},
};

}  // namespace

Metadata metadata_of_notes(const std::map<std::string, std::string>& notes, const Graph& graph,
                           const std::string& where) {
  Metadata metadata;
  for (const auto& [key, text] : notes) {
    const std::string at = fmt::format("{}: note '{}'", where, key);
    const auto* known = std::ranges::find_if(kNotes, [&](const Note& note) { return key == note.key; });
    if (known != std::end(kNotes))
      known->take(metadata, text, at);
    else if (key.starts_with(kTable))
      metadata.tables[key.substr(kTable.size())] = table_origin(text, at);
    else
      metadata.notes.emplace(key, text);
  }
  metadata.stage = stage_of_graph(graph, bool(metadata.platform));
  return metadata;
}

}  // namespace halfstep::detail
