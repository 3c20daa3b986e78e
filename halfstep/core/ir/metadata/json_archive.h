// Conversion of values with `fields` (metadata_fields.h) to and from JSON. Fields with default values are omitted, and
// a missing field reads as its default. Internal to this room.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <ranges>
#include <utility>
#include <vector>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/errors.h"
#include "halfstep/core/ir/metadata/metadata_fields.h"

namespace halfstep::detail {

using Json = nlohmann::json;

struct AnyArchive {
  void operator()(const char* /*key*/, auto& /*value*/, const char* /*earlier*/ = "") {}
};
template <class T>
concept HasFields = requires(AnyArchive archive, T value) {
  fields(archive, value);
};
template <class T>
concept IsMap = requires {
  typename T::mapped_type;
};
template <class T>
concept IsPair = requires(T pair) {
  pair.first, pair.second;
};
template <class T>
concept IsOptional = requires(T value) {
  value.has_value();
};
template <class T>
concept IsRange = std::ranges::range<T> && !std::same_as<T, std::string>;

// Conversion to JSON.

template <class T>
Json json_of(const T& value);
inline Json json_of(QuantizerKind kind) { return name(kind); }
inline Json json_of(const PlatformRecord& record) { return record.text(); }

class Writer {
 public:
  template <class T>
  void operator()(const char* key, const T& value, const char* /*earlier*/ = "") {
    if (!(value == T())) json_[key] = json_of(value);
  }
  /// Always written, because every reader needs the stage first.
  void operator()(const char* key, Stage stage) { json_[key] = name(stage); }

  Json take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

template <class T>
Json json_of(const T& value) {
  if constexpr (HasFields<T>) {
    Writer writer;
    fields(writer, value);
    return writer.take();
  } else if constexpr (IsOptional<T>) {
    return json_of(*value);
  } else if constexpr (IsPair<T>) {
    return Json::array({json_of(value.first), json_of(value.second)});
  } else if constexpr (IsMap<T>) {
    Json json = Json::object();
    for (const auto& [key, one] : value) json[key] = json_of(one);
    return json;
  } else if constexpr (IsRange<T>) {
    Json json = Json::array();
    for (const auto& one : value) json.push_back(json_of(one));
    return json;
  } else {
    return value;  // NaN and infinities become null
  }
}

// Conversion from JSON.

[[noreturn]] inline void refuse_value(const Json& json, const std::string& where, std::string_view expected) {
  constexpr size_t kShown = 60;
  fail(errors::metadata_value(where, json.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, kShown),
                              expected));
}

template <class T>
void read(const Json& json, const std::string& where, T& value);

/// Finds the enumerator, one of `count`, with the name in `json`.
template <class T>
void read_name(const Json& json, const std::string& where, size_t count, T& value) {
  for (size_t i = 0; i < count; ++i) {
    const T one = static_cast<T>(i);
    if (json.is_string() && json.get_ref<const std::string&>() == name(one)) return void(value = one);
  }
  refuse_value(json, where, fmt::format("one of {} names, such as '{}'", count, name(T())));
}

inline void read(const Json& json, const std::string& where, Stage& stage) { read_name(json, where, 3, stage); }
inline void read(const Json& json, const std::string& where, QuantizerKind& kind) {
  read_name(json, where, quantizer_kinds().size(), kind);
}
inline void read(const Json& json, const std::string& where, bool& value) {
  if (!json.is_boolean()) refuse_value(json, where, "true or false");
  value = json.get<bool>();
}
inline void read(const Json& json, const std::string& where, std::string& value) {
  if (!json.is_string()) refuse_value(json, where, "text");
  value = json.get<std::string>();
}
inline void read(const Json& json, const std::string& where, PlatformRecord& record) {
  std::string text;
  read(json, where, text);
  record = PlatformRecord(std::move(text));
}

/// Reads the fields of an object and rejects unknown keys.
class Reader {
 public:
  Reader(const Json& json, const std::string& where) : json_(json), where_(where) {
    if (!json.is_object()) refuse_value(json, where, "an object");
  }

  template <class T>
  /// `earlier` is a key of earlier files for the same field.
  void operator()(const char* key, T& value, const char* earlier = "") {
    known_.emplace_back(key);
    const bool is_earlier = *earlier != 0 && !json_.contains(key);
    if (is_earlier) known_.emplace_back(earlier);
    if (const auto found = json_.find(is_earlier ? earlier : key); found != json_.end())
      read(*found, fmt::format("{}.{}", where_, key), value);
  }
  void operator()(const char* key, Stage& stage);

  void refuse_others() const {
    for (const auto& [key, value] : json_.items()) {
      if (std::ranges::find(known_, key) == known_.end())
        fail(errors::metadata_key_unknown(where_, key, did_you_mean(key, known_)));
    }
  }

 private:
  const Json& json_;
  const std::string& where_;
  std::vector<std::string> known_;
};

template <class T>
void read_number(const Json& json, const std::string& where, T& value) {
  if constexpr (std::integral<T>) {
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<uint64_t>())
                                                : json.is_number_integer() && std::in_range<T>(json.get<int64_t>());
    if (!fits) refuse_value(json, where, fmt::format("an integer of {} bits", 8 * sizeof(T)));
    value = json.get<T>();
  } else {
    if (!json.is_number() && !json.is_null()) refuse_value(json, where, "a number");
    value = json.is_null() ? std::numeric_limits<T>::quiet_NaN() : json.get<T>();
  }
}

template <class T>
void read(const Json& json, const std::string& where, T& value) {
  if constexpr (HasFields<T>) {
    Reader reader(json, where);
    fields(reader, value);
    reader.refuse_others();
  } else if constexpr (IsOptional<T>) {
    read(json, where, value.emplace());
  } else if constexpr (IsPair<T>) {
    if (!json.is_array() || json.size() != 2) refuse_value(json, where, "a list of two");
    read(json[0], where, value.first);
    read(json[1], where, value.second);
  } else if constexpr (IsMap<T>) {
    if (!json.is_object()) refuse_value(json, where, "an object");
    for (const auto& [key, one] : json.items()) read(one, fmt::format("{}.{}", where, key), value[key]);
  } else if constexpr (IsRange<T>) {
    if (!json.is_array()) refuse_value(json, where, "a list");
    for (const Json& one : json) {
      typename T::value_type item{};
      read(one, where, item);
      value.insert(value.end(), std::move(item));
    }
  } else {
    read_number(json, where, value);
  }
}

inline void Reader::operator()(const char* key, Stage& stage) {
  known_.emplace_back(key);
  const auto found = json_.find(key);
  read(found == json_.end() ? Json() : *found, fmt::format("{}.{}", where_, key), stage);
}

/// Parses untrusted text. Throws Error that starts with `where`.
inline Json parse_json(const std::string& text, const std::string& where) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) refuse_value(text, where, "JSON");
  return json;
}

}  // namespace halfstep::detail
