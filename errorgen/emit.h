// What is made of the catalogue. Files that would not change are left alone, so that nothing is compiled for them.
#pragma once

#include "errorgen/catalogue.h"

namespace halfstep::errorgen {

/// OUT/FOLDER/errors.h and errors.cpp: for each entry a function that makes the Diagnostic of its values.
void write_room(const Room& room, const std::string& out);
/// OUT/halfstep/api/error_table.cpp: all entries by id, for `explain` and for Python.
void write_table(const Catalogue& catalogue, const std::string& out);

}  // namespace halfstep::errorgen
