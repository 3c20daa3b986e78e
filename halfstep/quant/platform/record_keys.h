// The keys of a platform record. Reading, `platform new`, `platform keys` and docs/reference/platform_keys.md all use
// this list.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::quant {

/// Names of the file formats that tools of chips read (halfstep/formats/vendor).
const std::vector<std::string>& deploy_formats();

enum class ValueKind { text, integer, number, boolean, integers, names, mapping, mappings };

/// Constraints on the value of a key.
struct LegalValues {
  std::vector<std::string> choices = {};                    ///< allowed texts, empty: any text
  double least = -std::numeric_limits<double>::infinity();  ///< smallest number, also for numbers in a list
  double most = std::numeric_limits<double>::infinity();
  std::string such = {};  ///< other constraint, for example "operators that ..."
};

struct RecordKey {
  std::string path;  ///< "weights.bits", or "legal.op" for a key of the mappings in the list `legal`
  ValueKind kind;
  std::string doc;           ///< one sentence with a full stop
  std::string example = {};  ///< a value in YAML, empty for mappings
  LegalValues legal = {};
  /// Default in YAML, "" if the absent key has no value. Without it the key is required.
  std::optional<std::string> absent = std::nullopt;

  /// The legal values as text, for example "integer, 2 to 16" or "minmax, mse".
  std::string values() const;
};

/// All keys in the order of a record. A mapping precedes its keys.
std::span<const RecordKey> platform_keys();

/// The keys of `keys` directly below `path`. "" is the root.
std::vector<const RecordKey*> keys_below(std::span<const RecordKey> keys, std::string_view path);

/// The part after the last dot, for example "bits".
std::string last_name(const RecordKey& key);

/// "2 to 16", "at least 1", or "" if every number is legal. Integers have no exponent.
std::string range_text(const RecordKey& key);

}  // namespace halfstep::quant
