// Loading of files to checked records, and output of files from records.
#pragma once

#include <string>
#include <vector>

#include "opgen/emit.h"
#include "opgen/record.h"

namespace halfstep::opgen {

/// Loads and checks all records of `files`, and adds the operators that opgen synthesizes. Paths in messages and output
/// are relative to the parent folder of the schema's folder.
Records load_all(const std::string& schema, const std::vector<std::string>& files);

/// Loads the enums that the schema defines.
std::vector<Enum> load_enums(const std::string& schema);

/// Writes changed files only. Other files keep their modification time, so that the build skips their dependents.
void write_all(const std::vector<OutputFile>& files, const std::string& folder);

/// Returns the importers, sorted by name, with the translations in these files: halfstep/formats/FOLDER/ops/NAME.cpp,
/// or in a subfolder of ops. The comment at the start of each file describes the translation.
std::vector<Importer> load_importers(std::vector<std::string> files);

}  // namespace halfstep::opgen
