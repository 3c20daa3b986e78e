// Operators that stay in float: the option that keeps them, and how they are listed.
#pragma once

#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>
#include <string>

#include "halfstep/halfstep.h"

namespace halfstep::cli {

void add_islands_option(CLI::App& command, quant::ConvertOptions& options);

/// A table of the operators, and before it how many they are.
std::string islands_text(const std::vector<quant::FloatIsland>& islands);
nlohmann::ordered_json islands_json(const std::vector<quant::FloatIsland>& islands);

}  // namespace halfstep::cli
