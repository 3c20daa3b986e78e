// What the subcommands share. Each lives in a file of its own and adds itself to the program with one function.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/limits.h"
#include "halfstep/halfstep.h"

namespace halfstep::cli {

/// Exit codes of the program.
enum Exit : int { kDone = 0, kDifference = 1, kBadInput = 2, kUnsupported = 3, kDefect = 70, kInterrupted = 130 };

/// Options that every subcommand has.
struct Common {
  int threads = 0;
  uint64_t seed = 0;
  bool json = false;

  /// For the library: progress goes to standard error, unless JSON is asked for.
  api::Settings settings() const;
};

/// cpu, sim, cuda or cuda:N; throws for anything else.
Place parse_device(const std::string& text);

/// Runs `work`, whose errors are about that file.
template <class Work>
auto about(const std::filesystem::path& file, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    throw prefixed(file.string(), error);
  }
}

/// --flip and --shift.
void add_augment(CLI::App& command, train::Augment& augment);

/// --max-iterations.
void add_max_length(CLI::App& command, std::optional<int64_t>& most);
void add_max_iterations(CLI::App& command, int64_t& most);

/// A subcommand's work; returns the exit code.
using Work = std::function<int()>;

/// Makes a subcommand with --threads, --seed and --json and an example in its help; `work` is what it does.
CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& summary,
                      const std::string& example, Common& common);

/// Samples, and all that is said of them: the same words for every subcommand.
struct DataArguments {
  std::string path;  ///< "": the embedded digits
  api::DataOptions read;
  train::PreprocessOptions preprocess;
};
/// Adds --data, or what else `flags` names, with the options that say how samples are read.
void add_reading(CLI::App& command, DataArguments& data, const std::string& flags);
/// The same and how they are preprocessed.
void add_data(CLI::App& command, DataArguments& data, const std::string& flags = "--data");

/// The same for values that are dumped: one sample, unless more are asked for.
void add_dumped_samples(CLI::App& command, DataArguments& data, const std::string& flags = "--data");

/// A file that a command writes.
struct OutFile {
  std::filesystem::path path;  ///< "": none
  bool overwrite = false;
  std::optional<io::Claim> claim = {};  ///< once it is required, until it is written
  /// Throws where it cannot be written, another process writes it, or it is there and nobody said that it may be
  /// replaced. Before any work.
  void require();
};
/// A check of an option that takes a number. Its range stands in the help.
CLI::Validator within(const Limits& limits);

/// A check of an option that takes one of these words, which stand in the help and are completed.
CLI::Validator one_of(std::vector<std::string> choices);

/// Adds `flag` with the file, and --overwrite.
CLI::Option* add_out_file(CLI::App& command, OutFile& file, const std::string& flag, const std::string& description);

/// A network and its samples.
api::LoadedPair load_both(const std::filesystem::path& network, const DataArguments& data);

/// Says on standard error what a report wants to be known.
void print_notes(const std::vector<std::string>& notes);

/// What a command that wrote a file has found: as JSON, or as text and where the file is.
template <class Result>
void print_result(const Common& common, const Result& result, const std::filesystem::path& written) {
  if (common.json) {
    fmt::print("{}", report::as_json(result));
  } else {
    fmt::print("{}wrote {}\n", report::as_text(result), written.string());
  }
}

/// A platform, as the options say.
struct TargetOptions {
  std::string name = "generic_int8";   ///< built-in name or path
  std::vector<std::string> overrides;  ///< KEY=VALUE
  std::string as = {};                 ///< insert.as, or ""
  bool pad_channels = false;
  std::vector<std::string> regions = {};  ///< A:B
  api::Platform platform() const;
};
/// --float-islands.
void add_islands_option(CLI::App& command, quant::ConvertOptions& options);

/// --repair, whose choices are the methods' own names, and what goes with it.
void add_repair(CLI::App& command, repair::Options& repair);
/// Where blocks go that are learned: beside the result, where nobody said it. Throws for a method that there is not.
void name_repair_folder(repair::Options& repair, const OutFile& out);

/// --layout and what else says how values lie in files.
void add_dump_layout(CLI::App& command, api::DumpOptions& dump);

/// --set.
void add_overrides(CLI::App& command, TargetOptions& target);

/// --platform, --set and what is asked of it but widths: edges, layers in float, padding.
void add_platform(CLI::App& command, TargetOptions& target, quant::PrepareOptions& widths);
/// The same and widths.
void add_target(CLI::App& command, TargetOptions& target, quant::PrepareOptions& widths);

// One for each file of this folder.
void add_analyze(CLI::App& program, Work& work);
void add_report(CLI::App& program, Work& work);
void add_bits(CLI::App& program, Work& work);
void add_data_command(CLI::App& program, Work& work);
void add_quickstart(CLI::App& program, Work& work);
void add_train(CLI::App& program, Work& work);
void add_eval(CLI::App& program, Work& work);
void add_run(CLI::App& program, Work& work);
void add_quantize(CLI::App& program, Work& work);
void add_convert(CLI::App& program, Work& work);
void add_export(CLI::App& program, Work& work);
void add_verify(CLI::App& program, Work& work);
void add_inspect(CLI::App& program, Work& work);
void add_op(CLI::App& program, Work& work);
void add_pass(CLI::App& program, Work& work);
void add_platform(CLI::App& program, Work& work);
void add_dump(CLI::App& program, Work& work);
void add_compare(CLI::App& program, Work& work);
void add_fuzz(CLI::App& program, Work& work);
void add_explain(CLI::App& program, Work& work);

}  // namespace halfstep::cli
