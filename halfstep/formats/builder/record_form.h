// Translation by the `foreign` entries of the records.
#pragma once

#include <optional>
#include <string>

#include "halfstep/formats/builder/node.h"

namespace halfstep::formats {

/// A record and one of its foreign entries.
struct RecordEntry {
  const OpInfo* info;
  const ForeignInfo* entry;
};

/// An operator in a file. `version` is the version of its domain.
struct ForeignOp {
  std::string_view format;
  std::string domain, op;
  int64_t version = 1;
};

/// Returns the entry for the version. Throws `unsupported` with the reason.
RecordEntry require_entry(const Node& node, const ForeignOp& op);
std::optional<RecordEntry> find_entry(const ForeignOp& op);

/// Returns the foreign name of one of Halfstep's ports or attributes.
const std::string& foreign_name(const ForeignInfo& entry, const std::string& ours);

}  // namespace halfstep::formats
