// Functions and types that the subcommands share. Each subcommand has its own file and one function that adds it to the
// program.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "halfstep/halfstep.h"
#include "halfstep/report/common/json.h"
#include "halfstep/report/errors.h"

namespace halfstep::cli {

/// Exit codes of the program.
enum Exit : int { kDone = 0, kDifference = 1, kBadInput = 2, kUnsupported = 3, kDefect = 70, kInterrupted = 130 };

/// Settings for the library. Progress goes to standard error, unless the output is JSON.
api::Settings settings_of(const api::CommonOptions& common);

/// Runs `work`. Its errors name the file.
template <class Work>
auto about(const std::filesystem::path& file, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    throw prefixed(file.string(), error);
  }
}

/// Claims the file that a command will write, for the lifetime of the claim. Throws before any work if the file cannot
/// be written, another process writes it, or it exists and may not be replaced. Empty for an empty path.
std::optional<io::Claim> require(const api::OutFile& file);

/// Loads the samples. Without a path it uses the built-in digits, with a warning.
api::Dataset load_data(const api::CommonOptions& common, const api::DataPath& data, int64_t classes);
/// Loads a network and its samples.
api::LoadedPair load_both(const api::CommonOptions& common, const std::filesystem::path& network,
                          const api::DataPath& data, const data::PreprocessOptions& preprocess);

/// Loads the platform, and prints a note for each key that its record spells as an earlier version did.
api::Platform load_platform(const api::CommonOptions& common, const api::TargetOptions& target);
/// Loads the platform that the options name. Empty if they name none.
std::optional<api::Platform> platform_of(const api::CommonOptions& common, const api::TargetOptions& target);

/// Prints the notes of a report on standard error.
void print_notes(const std::vector<std::string>& notes);

/// Prints a result as JSON or as text.
template <class Result>
void print(const api::CommonOptions& common, const Result& result) {
  fmt::print("{}", common.json ? report::as_json(result) : report::as_text(result));
}

/// Prints the result of a command that wrote a file: as JSON, or as text with the path of the file.
template <class Result>
void print_result(const api::CommonOptions& common, const Result& result, const std::filesystem::path& written) {
  print(common, result);
  if (!common.json) fmt::print("wrote {}\n", written.string());
}

/// Keeps corrected blocks next to the result if the options name no folder. Throws for an unknown method.
void name_repair_folder(repair::Options& repair, const api::OutFile& out);

// One function for each file of this folder.
void add_analyze(const Program& program);
void add_report(const Program& program);
void add_bits(const Program& program);
void add_data_command(const Program& program);
void add_quickstart(const Program& program);
void add_train(const Program& program);
void add_eval(const Program& program);
void add_run(const Program& program);
void add_quantize(const Program& program);
void add_convert(const Program& program);
void add_export(const Program& program);
void add_verify(const Program& program);
void add_inspect(const Program& program);
void add_op(const Program& program);
void add_pass(const Program& program);
void add_platform(const Program& program);
void add_dump(const Program& program);
void add_compare(const Program& program);
void add_fuzz(const Program& program);
void add_explain(const Program& program);

}  // namespace halfstep::cli
