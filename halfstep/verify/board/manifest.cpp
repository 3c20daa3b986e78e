#include "halfstep/verify/board/manifest.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "halfstep/verify/board/errors.h"

namespace halfstep::board {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kDigits = 3;

Json json_of(const Layout& layout) {
  const Border& b = layout.border;
  return {{"order", order_text(layout)},
          {"packing", std::string(name(layout.packing))},
          {"offset", layout.offset},
          {"border", {b.top, b.bottom, b.left, b.right}},
          {"big_endian", layout.big_endian}};
}

Json json_of(const Entry& entry) {
  Json json = {{"name", entry.name},       {"layer", entry.layer},
               {"op", entry.op},           {"what", entry.what},
               {"shape", entry.type.dims}, {"type", std::string(halfstep::name(entry.type.dtype))}};
  if (entry.codes) {
    const Codes& codes = *entry.codes;
    json["scale"] = codes.scale ? Json(*codes.scale) : Json(nullptr);
    json["zero_point"] = codes.zero_point;
    json["code_min"] = codes.code_min;
    json["code_max"] = codes.code_max;
  }
  json["layout"] = json_of(entry.layout);
  json["file"] = entry.file;
  json["format"] = std::string(name(entry.format));
  json["bytes"] = entry.bytes;
  json["sha256"] = entry.digests.sha256;
  json["md5"] = entry.digests.md5;
  return json;
}

/// Reads keys of an object, and collects mistakes.
class Reader {
 public:
  Reader(const Json& json, std::string where, std::vector<Diagnostic>& wrong)
      : json_(json), where_(std::move(where)), wrong_(wrong) {}

  template <class T>
  T get(const char* key, T otherwise, const char* expected) {
    const auto found = json_.find(key);
    if (found == json_.end()) {
      unfit(key, "nothing", expected);
      return otherwise;
    }
    return value(key, *found, std::move(otherwise), expected);
  }
  template <class T>
  std::optional<T> optional(const char* key, const char* expected) {
    const auto found = json_.find(key);
    if (found == json_.end() || found->is_null()) return std::nullopt;
    return value(key, *found, T{}, expected);
  }
  /// Passes a text to `parse`, and collects the errors that it throws.
  template <class Parse>
  void parsed(const char* key, const char* expected, Parse parse) {
    const auto text = get<std::string>(key, "", expected);
    if (text.empty()) return;
    try {
      parse(text, where_ + key);
    } catch (const Error& error) {
      std::ranges::copy(error.diagnostics(), std::back_inserter(wrong_));
    }
  }
  void unfit(const std::string& key, const std::string& found, const std::string& expected) {
    wrong_.push_back(errors::manifest_value_unfit(where_ + key, found, expected));
  }

 private:
  template <class T>
  T value(const char* key, const Json& found, T otherwise, const char* expected) {
    try {
      return found.get<T>();
    } catch (const nlohmann::json::exception&) {
      const std::string text = found.dump(-1, ' ', false, Json::error_handler_t::replace);
      unfit(key, text, expected);
      return otherwise;
    }
  }

  const Json& json_;
  std::string where_;
  std::vector<Diagnostic>& wrong_;
};

Layout layout_of(const Json& json, const std::string& where, std::vector<Diagnostic>& wrong) {
  Reader reader(json, where, wrong);
  Layout layout;
  reader.parsed("order", "nchw, nhwc or ndhwcB",
                [&](const std::string& text, const std::string& at) { set_order(layout, parse_order(text, at)); });
  reader.parsed("packing", "none, low_first or high_first",
                [&](const std::string& text, const std::string& at) { layout.packing = parse_packing(text, at); });
  layout.offset = reader.get("offset", false, "true or false");
  layout.big_endian = reader.get("big_endian", false, "true or false");
  const auto border = reader.get("border", std::vector<int64_t>(4), "[top, bottom, left, right]");
  if (border.size() == 4 && std::ranges::all_of(border, [](int64_t one) { return one >= 0 && one < 4096; }))
    layout.border = {border[0], border[1], border[2], border[3]};
  else
    reader.unfit("border", fmt::format("[{}]", fmt::join(border, ", ")), "[top, bottom, left, right]");
  return layout;
}

void read_type(Entry& entry, Reader& reader) {
  reader.parsed("type", "an element type", [&](const std::string& text, const std::string& at) {
    const auto dtype = parse_dtype(text);
    if (!dtype) fail(errors::dump_layout_unknown(at, text, "an element type, as in u8"));
    entry.type.dtype = *dtype;
  });
  entry.type.dims = reader.get("shape", Dims{}, "extents");
  try {
    count_elements(entry.type.dims);
  } catch (const Error&) {
    reader.unfit("shape", to_string(entry.type.dims), "extents from 0 on");
    entry.type.dims = {0};
  }
}

Entry entry_of(const Json& json, const std::string& where, std::vector<Diagnostic>& wrong) {
  Entry entry;
  Reader reader(json, where, wrong);
  entry.name = reader.get<std::string>("name", "", "a text");
  entry.layer = reader.get<std::string>("layer", "", "a text");
  entry.op = reader.get<std::string>("op", "", "a text");
  entry.what = reader.get<std::string>("what", "activation", "a text");
  if (entry.what == "feature") entry.what = "activation";  // as dumps of version 0.1 call it
  read_type(entry, reader);
  if (const auto zero = reader.optional<int64_t>("zero_point", "an integer"))
    entry.codes =
        Codes{reader.optional<float>("scale", "a number"), *zero, reader.get<int64_t>("code_min", 0, "an integer"),
              reader.get<int64_t>("code_max", 255, "an integer")};
  const Json layout = reader.get<Json>("layout", Json::object(), "an object");
  entry.layout = layout_of(layout, where + "layout.", wrong);
  if (entry.type.dims.size() != 4 && !entry.layout.border.empty())
    reader.unfit("layout.border", fmt::format("one around {}", to_string(entry.type.dims)), "images");
  entry.file = reader.get<std::string>("file", "", "the name of a file");
  reader.parsed("format", "bin, npy or txt",
                [&](const std::string& text, const std::string& at) { entry.format = parse_format(text, at); });
  entry.bytes = reader.get<int64_t>("bytes", 0, "an integer");
  entry.digests = {reader.get<std::string>("sha256", "", "a text"), reader.get<std::string>("md5", "", "a text")};
  return entry;
}

}  // namespace

std::string_view name(Format format) { return choices_of(format)[static_cast<size_t>(format)]; }

Format parse_format(std::string_view text, const std::string& where) {
  constexpr auto kNames = choices_of(Format());
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) fail(errors::dump_layout_unknown(where, text, "bin, npy or txt"));
  return static_cast<Format>(found - kNames.begin());
}

int Codes::bits() const {
  int bits = 1;
  while (bits < 32 && code_max - code_min >= int64_t{1} << bits) ++bits;
  return bits;
}

const Entry* Manifest::find(std::string_view name) const {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  return found == entries.end() ? nullptr : &*found;
}

std::string to_text(const Manifest& manifest) {
  Json json = {{"schema", kManifestSchema}, {"network", manifest.network}, {"stage", manifest.stage},
               {"path", manifest.path},     {"samples", manifest.samples}, {"values", Json::array()}};
  for (const Entry& entry : manifest.entries) json["values"].push_back(json_of(entry));
  json["graph"] = manifest.graph;
  return json.dump(1) + "\n";
}

Manifest parse_manifest(const std::string& text, const std::string& where) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) fail(errors::manifest_value_unfit(where, "no JSON object", "the manifest of a dump"));
  std::vector<Diagnostic> wrong;
  Reader reader(json, "", wrong);
  Manifest manifest;
  if (const int schema = reader.get("schema", 0, "1"); schema != kManifestSchema)
    fail(errors::manifest_value_unfit(fmt::format("{}: schema", where), schema, kManifestSchema));
  manifest.network = reader.get<std::string>("network", "", "a text");
  manifest.stage = reader.get<std::string>("stage", "", "a text");
  manifest.path = reader.get<std::string>("path", "", "a text");
  manifest.samples = reader.get<int64_t>("samples", 0, "an integer");
  manifest.graph = reader.get<std::string>("graph", "", "a text");
  Json values = reader.get<Json>("values", Json::array(), "a list");
  if (!values.is_array()) {
    reader.unfit("values", "another value", "a list");
    values = Json::array();
  }
  std::set<std::string> names, files;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string at = fmt::format("values[{}].", i);
    if (!values[i].is_object()) {
      reader.unfit(fmt::format("values[{}]", i), "another value", "an object");
      continue;
    }
    manifest.entries.push_back(entry_of(values[i], at, wrong));
    const Entry& entry = manifest.entries.back();
    if (!names.insert(entry.name).second) reader.unfit(at + "name", fmt::format("'{}' twice", entry.name), "once");
    if (!files.insert(entry.file).second) reader.unfit(at + "file", fmt::format("'{}' twice", entry.file), "once");
  }
  for (Diagnostic& one : wrong) one.where = where + ": " + one.where;
  fail_on_any(std::move(wrong));
  return manifest;
}

std::string file_name(size_t number, const std::string& value, Format format) {
  std::string safe = value;
  for (char& c : safe) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-' && c != '_') c = '_';
  }
  constexpr size_t kLongest = 120;
  return fmt::format("{:0{}}_{}.{}", number, kDigits, safe.substr(0, kLongest), name(format));
}

std::string value_name(const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  const size_t digits = stem.find_first_not_of("0123456789");
  return digits != std::string::npos && digits >= kDigits && stem[digits] == '_' ? stem.substr(digits + 1) : stem;
}

}  // namespace halfstep::board
