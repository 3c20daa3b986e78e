// Names of operators in a record: those that an operator must be able to be, and what is said of others.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "halfstep/core/ir/op_info.h"
#include "halfstep/quant/platform/yaml_reader.h"

namespace halfstep::quant {

bool contains(const std::vector<std::string>& names, const std::string& name);

/// Names of the operators for which `takes` holds.
std::vector<std::string> operators_that(bool (*takes)(const OpInfo& op));

/// A name, objected to where it is not among `able`; the key says what those are.
std::string read_name(const YamlReader& reader, const std::string& key, const std::vector<std::string>& able);

/// The names of a list, each as above; `such` says what they are where the key cannot. Nothing is said where what a
/// path of `depends_on` has is wrong already.
std::vector<std::string> read_names(const YamlReader& reader, const std::string& key,
                                    const std::vector<std::string>& able, const std::string& such = "",
                                    std::initializer_list<std::string> depends_on = {});

}  // namespace halfstep::quant
