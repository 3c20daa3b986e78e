// Reads names of operators in a record, and reports names that are not legal for their key.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "halfstep/core/ir/op_info.h"
#include "halfstep/quant/platform/yaml_reader.h"

namespace halfstep::quant {

bool contains(const std::vector<std::string>& names, const std::string& name);

/// Names of the operators for which `takes` returns true.
std::vector<std::string> operators_that(bool (*takes)(const OpInfo& op));

/// Reads a name. Reports it if it is not in `able`. The key describes the legal names.
std::string read_name(const YamlReader& reader, const std::string& key, const std::vector<std::string>& able);

/// Reads a list of names like read_name. `such` describes the legal names if the key does not. Reports nothing if the
/// value at a path in `depends_on` is already wrong.
std::vector<std::string> read_names(const YamlReader& reader, const std::string& key,
                                    const std::vector<std::string>& able, const std::string& such = "",
                                    std::initializer_list<std::string> depends_on = {});

}  // namespace halfstep::quant
