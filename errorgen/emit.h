// Output of the error catalogue. Unchanged files are left untouched, so that nothing is recompiled.
#pragma once

#include "errorgen/catalogue.h"

namespace halfstep::errorgen {

/// Writes OUT/FOLDER/errors.h and errors.cpp, with a function for each entry that builds the Diagnostic from values.
void write_room(const Room& room, const std::string& out);
/// Writes OUT/halfstep/api/error_table.cpp with all entries, sorted by id, for `explain` and for Python.
void write_table(const Catalogue& catalogue, const std::string& out);

}  // namespace halfstep::errorgen
