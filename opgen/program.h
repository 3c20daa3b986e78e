// From files to checked records, and from records to files.
#pragma once

#include <string>
#include <vector>

#include "opgen/emit.h"
#include "opgen/record.h"

namespace halfstep::opgen {

/// All records of `files`, checked, with the operators that opgen adds. Paths in messages and in the output are
/// relative to the folder above the schema's.
Records load_all(const std::string& schema, const std::vector<std::string>& files);

/// The types that the schema asks for.
std::vector<Enum> load_enums(const std::string& schema);

/// Writes what changed; everything else keeps its time, so that a build stops there.
void write_all(const std::vector<OutputFile>& files, const std::string& folder);

/// The importers with the functions of these files, halfstep/formats/FOLDER/ops/NAME.cpp or in a folder below ops, in
/// the order of their names; each file starts with a comment that says what it does.
std::vector<Importer> load_importers(std::vector<std::string> files);

}  // namespace halfstep::opgen
