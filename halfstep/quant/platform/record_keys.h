// The keys of a platform's record: the one list that reading, `platform new`, `platform keys` and
// docs/reference/platform_keys.md have them from.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::quant {

/// Names of the files that tools of chips read (halfstep/formats/vendor).
const std::vector<std::string>& deploy_formats();

enum class ValueKind { text, integer, number, boolean, integers, names, mapping, mappings };

/// What a value is held to.
struct LegalValues {
  std::vector<std::string> choices = {};                    ///< of text: all there are; empty for any
  double least = -std::numeric_limits<double>::infinity();  ///< of numbers, those in a list too
  double most = std::numeric_limits<double>::infinity();
  std::string such = {};  ///< what else: "operators that ..."
};

struct RecordKey {
  std::string path;  ///< "weights.bits"; keys of the mappings in a list stand below the list: "legal.op"
  ValueKind kind;
  std::string doc;           ///< one sentence, full stop included
  std::string example = {};  ///< a value, in YAML; mappings have none
  LegalValues legal = {};
  /// What holds where the key is absent, in YAML; "" for nothing. None: the key must be there.
  std::optional<std::string> absent = std::nullopt;

  /// "whole number, 2 to 16"; "minmax, mse".
  std::string values() const;
};

/// In the order in which records have them; each mapping stands before its keys.
std::span<const RecordKey> platform_keys();

/// Of `keys` those right below `path`, "" for the root.
std::vector<const RecordKey*> keys_below(std::span<const RecordKey> keys, std::string_view path);

/// The part behind the last dot: "bits".
std::string last_name(const RecordKey& key);

/// "2 to 16", "at least 1", or "" where any number does. Whole numbers have no exponent.
std::string range_text(const RecordKey& key);

}  // namespace halfstep::quant
