// The values of keys in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "halfstep/quant/platform/record_keys.h"

namespace halfstep::quant {
namespace {

using enum ValueKind;

std::string kind_text(ValueKind kind) {
  switch (kind) {
    case text: return "text";
    case integer: return "integer";
    case number: return "number";
    case boolean: return "true or false";
    case integers: return "list of integers";
    case names: return "list of names";
    case mapping: return "keys and values";
    case mappings: return "list of mappings";
  }
  return "";
}

std::string bound(const RecordKey& key, double value) {
  return key.kind == number ? fmt::format("{}", value) : fmt::format("{:.0f}", value);
}

}  // namespace

std::string range_text(const RecordKey& key) {
  if (std::isinf(key.legal.least)) return "";
  return fmt::format("{} to {}", bound(key, key.legal.least), bound(key, key.legal.most));
}

std::string RecordKey::values() const {
  if (!legal.choices.empty()) return fmt::format("{}", fmt::join(legal.choices, ", "));
  const std::string range = range_text(*this);
  const std::string more = legal.such.empty() ? range : legal.such;
  return more.empty() ? kind_text(kind) : kind_text(kind) + ": " + more;
}

}  // namespace halfstep::quant
