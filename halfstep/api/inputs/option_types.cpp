#include "halfstep/api/inputs/option_types.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/data/pipeline/preprocess.h"

namespace halfstep::api {
namespace {

bool parse(std::string_view text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// Parses "0.1" or "1/255".
bool parse_fraction(std::string_view text, double& number) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return parse(text, number);
  double below = 0;
  if (!parse(text.substr(0, slash), number) || !parse(text.substr(slash + 1), below) || below == 0) return false;
  number /= below;
  return true;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + separator.size());
  }
}

}  // namespace

bool read_switch(const std::string& word, const std::string& where) {
  if (word != "true" && word != "false") fail(errors::not_a_choice(where, word, "true or false"));
  return word == "true";
}

double read_number(const OptionEntry& entry, bool whole, const std::string& word, const std::string& where) {
  const std::string range =
      entry.range != nullptr ? entry.range->text() : std::string(whole ? "an integer" : "a number");
  double number = 0;
  if (!parse_fraction(word, number) || (whole && number != std::floor(number)))
    fail(errors::option_of_other_form(where, word, range));
  if (entry.range != nullptr) entry.range->require(where, number);
  return number;
}

size_t read_choice(std::span<const std::string_view> choices, const std::string& word, const std::string& where) {
  const auto it = std::ranges::find(choices, word);
  if (it != choices.end()) return static_cast<size_t>(it - choices.begin());
  const Words names(choices.begin(), choices.end());
  fail(errors::not_a_choice(where, word, fmt::format("{}{}", fmt::join(choices, ", "), did_you_mean(word, names))));
}

std::string write_number(double number) { return fmt::format("{}", number); }

std::string OptionText<std::string>::read(const OptionEntry& entry, const std::string& word, const std::string& where) {
  const Words names = words_in(entry.choices);
  const std::vector<std::string_view> choices(names.begin(), names.end());
  if (!choices.empty()) (void)read_choice(choices, word, where);
  return word;
}

Words elements_of(const OptionEntry& entry, const Words& words, const std::string& where) {
  Words elements;
  for (const std::string& word : words) {
    if (entry.separator.empty()) {
      elements.push_back(word);
    } else {
      for (const std::string_view part : split(word, entry.separator)) elements.emplace_back(part);
    }
  }
  for (const std::string& element : elements) {
    if (element.empty()) fail(errors::option_of_other_form(where, element, "a value"));
  }
  return elements;
}

void require_count(const OptionEntry& entry, const Words& elements, const std::string& where) {
  if (entry.count > 0 && elements.size() != static_cast<size_t>(entry.count))
    fail(errors::option_of_other_form(where, fmt::format("{}", fmt::join(elements, ",")),
                                      fmt::format("{} values", entry.count)));
}

const std::string& only_word(const Words& words, const std::string& where) {
  if (words.size() != 1 || words.front().empty())
    fail(errors::option_of_other_form(where, fmt::format("{}", fmt::join(words, " ")), "one value"));
  return words.front();
}

using Text = const std::string&;

train::RateSchedule OptionText<train::RateSchedule>::read(const OptionEntry&, Text word, Text where) {
  try {
    return train::parse_rate_schedule(word);
  } catch (const Error& error) {
    throw prefixed(where, error);
  }
}
std::string OptionText<train::RateSchedule>::write(const train::RateSchedule& value) { return train::to_text(value); }

data::PreprocessOptions OptionText<data::PreprocessOptions>::read(const OptionEntry&, Text word, Text where) {
  return data::parse_preprocess_options(word, where);
}
std::string OptionText<data::PreprocessOptions>::write(const data::PreprocessOptions&) { return ""; }

StageBits OptionText<StageBits>::read(const OptionEntry&, Text word, Text) { return parse_stage_bits(word); }
std::string OptionText<StageBits>::write(const StageBits& value) {
  if (value.in_float()) return "float";
  return value.weights == value.activations ? std::to_string(value.weights)
                                            : fmt::format("{}/{}", value.weights, value.activations);
}

LayerBits OptionText<LayerBits>::read(const OptionEntry&, Text word, Text where) {
  return parse_layer_bits(word, where);
}
std::string OptionText<LayerBits>::write(const LayerBits& value) { return to_text(value); }

data::PictureSize OptionText<data::PictureSize>::read(const OptionEntry&, Text word, Text where) {
  const size_t times = word.find('x');
  double height = 0, width = 0;
  if (times == std::string::npos || !parse(word.substr(0, times), height) || !parse(word.substr(times + 1), width) ||
      !limits::kPixels.contains(height) || !limits::kPixels.contains(width))
    fail(errors::option_of_other_form(where, word, "HEIGHTxWIDTH, as in 224x224"));
  return {static_cast<int64_t>(height), static_cast<int64_t>(width)};
}
std::string OptionText<data::PictureSize>::write(const data::PictureSize& value) {
  return fmt::format("{}x{}", value.height, value.width);
}

board::ElementOrder OptionText<board::ElementOrder>::read(const OptionEntry&, Text word, Text where) {
  return board::parse_order(word, where);
}
std::string OptionText<board::ElementOrder>::write(const board::ElementOrder& value) { return board::to_text(value); }

quant::Override OptionText<quant::Override>::read(const OptionEntry&, Text word, Text where) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
    fail(errors::option_of_other_form(where, word, "KEY=VALUE"));
  return {word.substr(0, equals), word.substr(equals + 1)};
}
std::string OptionText<quant::Override>::write(const quant::Override& value) {
  return value.first + "=" + value.second;
}

Place OptionText<Place>::read(const OptionEntry&, Text word, Text where) {
  const auto place = parse_place(word);
  if (!place) fail(errors::not_a_choice(where, word, "cpu, sim, cuda or cuda:N"));
  return *place;
}
std::string OptionText<Place>::write(const Place& value) { return to_string(value); }

SeedRange OptionText<SeedRange>::read(const OptionEntry&, Text word, Text where) {
  return parse_seed_range(word, where);
}
std::string OptionText<SeedRange>::write(const SeedRange& value) { return to_text(value); }

}  // namespace halfstep::api
