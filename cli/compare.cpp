#include <fmt/format.h>

#include "cli/command.h"

namespace halfstep::cli {
namespace {

struct CompareArguments {
  Common common;
  std::filesystem::path first, second;
  DataArguments data;
  api::CompareOptions compare;
  OutFile html;
};

/// Samples are read where one of the two is a network; they are those that it tells apart.
board::Comparison compare(const CompareArguments& arguments) {
  const auto& [common, first, second, data, options, html] = arguments;
  for (const auto& path : {first, second}) {
    if (!api::is_network(path)) continue;
    const api::LoadedPair pair = load_both(path, data);
    return api::compare(first, second, &pair.data, options, common.settings());
  }
  return api::compare(first, second, nullptr, options, common.settings());
}

}  // namespace

void add_compare(CLI::App& program, Work& work) {
  const auto options = std::make_shared<CompareArguments>();
  CLI::App* command = add_command(
      program, "compare", "Say which value differs first between two sides, where, and what is most likely wrong",
      "halfstep compare dumps board --html board.html\n"
      "         halfstep compare dumps conv4.bin --like conv4",
      options->common);
  const std::string what =
      "folder of dumps or of bare files called as values are, bare file, npz or safetensors of arrays, or Model";
  command->add_option("first", options->first, what)->required();
  command->add_option("second", options->second, "the same")->required();
  command->add_option("--like", options->compare.like, "the value that a bare file is")->type_name("VALUE");
  add_dumped_samples(*command, options->data);
  auto& tolerance = options->compare.tolerance;
  command->add_option("--rtol", tolerance.relative, "relative tolerance of reals")
      ->check(within(limits::kTolerance))
      ->capture_default_str();
  command->add_option("--atol", tolerance.absolute, "absolute tolerance of reals")
      ->check(within(limits::kTolerance))
      ->capture_default_str();
  add_out_file(*command, options->html, "--html", "page to write");
  command->callback([options, &work] {
    work = [options] {
      options->html.require();
      options->compare.dump.preprocess = options->data.preprocess;
      const auto comparison = compare(*options);
      if (!options->html.path.empty()) io::write_file(options->html.path, report::as_html(comparison));
      fmt::print("{}", options->common.json ? report::as_json(comparison) : report::as_text(comparison));
      return int{comparison.equal() ? kDone : kDifference};
    };
  });
}

}  // namespace halfstep::cli
