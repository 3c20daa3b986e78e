// The help of a subcommand.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "halfstep/api/inputs/option.h"

namespace halfstep::cli {

/// Description of an option with its range and default.
std::string describe(const api::BoundOption& option);

/// "{A,B}" for choices, which bash completes. Otherwise the kind of value: INT, NUMBER, FILE, TEXT.
std::string type_name(const api::BoundOption& option);

std::string examples_text(const api::VerbEntry& verb);

/// Breaks descriptions into lines.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_description(const CLI::App* command) const override;
};

}  // namespace halfstep::cli
