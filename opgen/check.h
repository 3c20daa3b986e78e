// Checks of a single record: names, presence, types and rules. gradient.h and program.h check references to other
// records.
#pragma once

#include "opgen/record.h"

namespace halfstep::opgen {

/// Checks ports and attributes. Sets the types of all expressions and the list of bound extents.
void check_record(Record& record);

/// Checks that every rule has a case under test.reject. `record.test` must be loaded.
void check_rejects(const Record& record);

}  // namespace halfstep::opgen
