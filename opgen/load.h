// YAML -> Record: form only. What a record means is checked in check.h and gradient.h.
#pragma once

#include <string>
#include <vector>

#include "opgen/fragments.h"
#include "opgen/record.h"
#include "opgen/schema.h"

namespace halfstep::opgen {

/// A record and what is read of it only when all records are known.
struct Loaded {
  Record record;
  Yaml yaml;
};

/// The record in an entry of a page, with the fragments that it uses.
Loaded load_record(const Yaml& entry, Fragments& fragments, const Schema& schema);

/// Ports of `in:` or `out:`.
std::vector<Port> load_ports(const Yaml& yaml, const Record& record, bool are_outputs);

/// The `test:` block; needs the ports and attributes of `record`.
Test load_test(const Yaml& yaml, const Record& record);

}  // namespace halfstep::opgen
