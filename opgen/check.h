// What a record means by itself: names, presence, types, rules. References to other records are checked in gradient.h
// and program.h.
#pragma once

#include "opgen/record.h"

namespace halfstep::opgen {

/// Checks ports and attributes, sets the types of all expressions and the list of bound extents.
void check_record(Record& record);

/// Every rule has a case under test.reject. `record.test` must be loaded.
void check_rejects(const Record& record);

}  // namespace halfstep::opgen
