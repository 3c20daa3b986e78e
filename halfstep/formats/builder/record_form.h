// Translation by the `foreign` entries of the records.
#pragma once

#include <optional>
#include <string>

#include "halfstep/formats/builder/node.h"

namespace halfstep::formats {

/// A foreign entry of a record, and the record.
struct RecordEntry {
  const OpInfo* info;
  const ForeignInfo* entry;
};

/// An operator as a file has it; `version` is that of its domain.
struct ForeignOp {
  std::string_view format;
  std::string domain, op;
  int64_t version = 1;
};

/// The one that holds for the version; throws `unsupported` with the reason.
RecordEntry require_entry(const Node& node, const ForeignOp& op);
std::optional<RecordEntry> find_entry(const ForeignOp& op);

/// The name that an entry has for a port or attribute of ours.
const std::string& foreign_name(const ForeignInfo& entry, const std::string& ours);

}  // namespace halfstep::formats
