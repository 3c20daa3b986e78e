#include "halfstep/report/data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "halfstep/report/common/json.h"

#include "halfstep/report/common/json.h"

namespace halfstep::report {
namespace {

using Counts = std::vector<std::pair<std::string, int64_t>>;

/// The first counts, for example "cat 12, dog 9, 3 more".
std::string text_of(const Counts& counts) {
  constexpr size_t kShown = 10;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(kShown, counts.size()); ++i)
    shown.push_back(fmt::format("{} ({})", counts[i].first, counts[i].second));
  if (counts.size() > kShown) shown.push_back(fmt::format("{} more", counts.size() - kShown));
  return fmt::format("{}", fmt::join(shown, ", "));
}

std::string parts_text(const api::DataReport& data) {
  if (data.tested == "all samples") return fmt::format("{} samples for both training and tests\n", data.test);
  const std::string val = data.val > 0 ? fmt::format(", {} validate (val/)", data.val) : "";
  return fmt::format("{} train{}, {} test ({})\n", data.train, val, data.test, data.tested);
}

/// Numbers by channel, in the format of --mean and --std.
std::string list_of(const std::vector<double>& numbers, double factor) {
  std::vector<std::string> texts;
  for (const double number : numbers) texts.push_back(fmt::format("{:.4f}", number * factor));
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string values_text(const api::DataReport& data) {
  if (data.measured == 0) return "";
  std::string text = fmt::format("values   {:g} to {:g} in {} samples, mean {}, std {}\n", data.least, data.most,
                                 data.measured, list_of(data.mean, 1), list_of(data.deviation, 1));
  if (!data.raw) return text + "         used as they are\n";
  if (data.most > 1 && data.least >= 0 && data.most <= 255) {
    const double largest = data.most > 16 ? 255 : data.most;
    text += fmt::format("         --scale 1/{:g} --mean {} --std {} makes mean and std 0 and 1\n", largest,
                        list_of(data.mean, 1 / largest), list_of(data.deviation, 1 / largest));
  }
  return text;
}

}  // namespace

std::string as_text(const api::DataReport& data) {
  std::string text = fmt::format("{}: {}, {} samples\n", data.name, data.form, data.samples);
  text += data.classes.empty() ? "labels   none\n"
                               : fmt::format("classes  {}: {}\n", data.classes.size(), text_of(data.classes));
  text += "parts    " + parts_text(data);
  for (const auto& [name, type] : data.inputs) text += fmt::format("input    '{}' {}\n", name, to_string(type));
  for (const auto& [name, type] : data.targets) text += fmt::format("target   '{}' {}\n", name, to_string(type));
  if (!data.sample.empty()) text += fmt::format("sample   {}\n", to_string(data.sample));
  if (!data.sizes.empty())
    text += fmt::format("sizes    {}{}\n", data.sizes.size() > 1 ? fmt::format("{}: ", data.sizes.size()) : "",
                        text_of(data.sizes));
  text += values_text(data);
  if (!data.skipped.empty())
    text += fmt::format("skipped {}, the first: {}\n", data.skipped.size(), data.skipped.front());
  return text;
}

std::string as_json(const api::DataReport& data) {
  using Json = nlohmann::ordered_json;
  const auto counts = [](const Counts& list, const char* key) {
    Json json = Json::array();
    for (const auto& [name, count] : list) json.push_back({{key, name}, {"samples", count}});
    return json;
  };
  Json json = {{"name", data.name},
               {"form", data.form},
               {"samples", data.samples},
               {"classes", counts(data.classes, "name")},
               {"parts", {{"train", data.train}, {"val", data.val}, {"test", data.test}, {"tested", data.tested}}},
               {"sample", data.sample},
               {"sizes", counts(data.sizes, "pixels")},
               {"raw", data.raw},
               {"measured", data.measured}};
  for (const auto& [name, type] : data.inputs) json["inputs"][name] = to_string(type);
  for (const auto& [name, type] : data.targets) json["targets"][name] = to_string(type);
  if (data.measured > 0) {
    json["least"] = data.least;
    json["most"] = data.most;
    json["mean"] = data.mean;
    json["std"] = data.deviation;
  }
  json["skipped"] = data.skipped;
  return to_text(json);
}

}  // namespace halfstep::report
