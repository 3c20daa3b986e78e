// Conversion from YAML to Record. Checks only the form. check.h and gradient.h check the semantics.
#pragma once

#include <string>
#include <vector>

#include "opgen/fragments.h"
#include "opgen/record.h"
#include "opgen/schema.h"

namespace halfstep::opgen {

/// A record, and the parts that can be read only when all records are known.
struct Loaded {
  Record record;
  Yaml yaml;
};

/// Reads the record in an entry of a page, with the fragments that it uses.
Loaded load_record(const Yaml& entry, Fragments& fragments, const Schema& schema);

/// Reads the ports of `in:` or `out:`.
std::vector<Port> load_ports(const Yaml& yaml, const Record& record, bool are_outputs);

/// Reads the `test:` block. Ports and attributes of `record` must be loaded.
Test load_test(const Yaml& yaml, const Record& record);

}  // namespace halfstep::opgen
