#include "halfstep/report/platform.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "halfstep/quant/platform/record_json.h"
#include "halfstep/report/common/json.h"
#include "halfstep/report/common/text_table.h"
#include "halfstep/report/errors.h"

namespace halfstep::report {
namespace {

using Json = nlohmann::ordered_json;
using quant::RecordKey;
using quant::ValueKind;

const char* type_of(ValueKind kind) {
  constexpr const char* kNames[] = {"text", "integer", "number", "boolean", "integers", "names", "mapping", "mappings"};
  return kNames[static_cast<size_t>(kind)];
}

/// The default of a key: "required", "none" or the value.
std::string default_text(const RecordKey& key) {
  return !key.absent ? "required" : key.absent->empty() ? "none" : *key.absent;
}

Json value_of(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

}  // namespace

std::string as_text(const api::PlatformCheck& check) {
  if (check.holds()) return fmt::format("{}: no errors\n", check.file);
  std::string text;
  for (const Diagnostic& one : check.objections) text += fmt::format("{}: {}\n", one.where, one.reason());
  return text;
}

std::string as_json(const api::PlatformCheck& check) {
  Json objections = Json::array();
  for (const Diagnostic& one : check.objections) objections.push_back(object_of(one));
  return to_text({{"file", check.file}, {"holds", check.holds()}, {"objections", std::move(objections)}});
}

std::string as_text(const quant::Platform& platform) { return quant::record_text(platform); }

std::string as_json(const quant::Platform& platform) { return to_text({{"platform", quant::record_json(platform)}}); }

std::string as_text(const api::PlatformComparison& found) {
  if (found.differences.empty()) return fmt::format("{} and {} are equivalent\n", found.first, found.second);
  Table table({"key", found.first, found.second});
  for (const auto& one : found.differences) table.add({one.path, one.first.value_or("-"), one.second.value_or("-")});
  return table.text();
}

std::string as_json(const api::PlatformComparison& found) {
  Json differences = Json::array();
  for (const auto& one : found.differences)
    differences.push_back({{"key", one.path}, {"first", value_of(one.first)}, {"second", value_of(one.second)}});
  return to_text({{"first", found.first}, {"second", found.second}, {"differences", std::move(differences)}});
}

std::string as_text(const std::vector<quant::Platform>& platforms) {
  Table table({"platform", "weights", "activations", "scales", "requantization"});
  for (const quant::Platform& one : platforms)
    table.add({one.name,
               fmt::format("per {}: {}", one.per_channel ? "channel" : "tensor", fmt::join(one.weights.legal, " ")),
               fmt::format("{} {}: {}", one.signed_activations ? "signed" : "unsigned", one.activation_zero_points,
                           fmt::join(one.activations.legal, " ")),
               one.power_of_two ? "powers of two" : "any", one.no_integers.empty() ? one.requantize : "none"});
  return table.text();
}

std::string as_json(const std::vector<quant::Platform>& platforms) {
  Json list = Json::array();
  for (const quant::Platform& one : platforms) list.push_back({{"name", one.name}, {"doc", one.doc}});
  return to_text({{"platforms", std::move(list)}});
}

std::string record_keys_text() {
  std::string text;
  for (const RecordKey& key : quant::platform_keys()) {
    const bool has_keys = key.kind == ValueKind::mapping;
    text += has_keys ? fmt::format("{}\n", key.path)
                     : fmt::format("{} ({}; {})\n", key.path, key.values(), default_text(key));
    text += "    " + key.doc + "\n";
  }
  return text;
}

std::string record_keys_json() {
  Json keys = Json::array();
  for (const RecordKey& key : quant::platform_keys())
    keys.push_back({{"key", key.path},
                    {"type", type_of(key.kind)},
                    {"values", key.values()},
                    {"default", default_text(key)},
                    {"example", key.example},
                    {"doc", key.doc}});
  return to_text({{"keys", std::move(keys)}});
}

}  // namespace halfstep::report
