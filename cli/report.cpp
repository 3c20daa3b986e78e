#include <utility>

#include "cli/command.h"

namespace halfstep::cli {

void add_report(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    std::filesystem::path prepared, integer;
    OutFile out;
    DataArguments data;
    api::ReportOptions report;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = add_command(
      program, "report", "Show a quantized network on one page: verdict, layers, ranges, sensitivities, proof",
      "halfstep report prepared.safetensors --data digits.csv.gz --out report.html", options->common);
  command->add_option("prepared", options->prepared, "prepared Model")->required();
  command->add_option("integer", options->integer, "integer Model; without one it is what convert makes");
  add_data(*command, options->data);
  command->add_option("--analyzed", options->report.analyze.how.samples, "how many samples the analysis looks at")
      ->check(within(limits::kTop))
      ->capture_default_str();
  command->add_option("--with", options->report.verify.with, "a further road of the proof")
      ->check(one_of({"onnxruntime", "c"}));
  command->add_option("--training", options->report.training, "folder of the run that trained it, for its curves");
  command->add_option("--bits", options->report.bits, "what halfstep bits --json printed, for its front");
  command->add_option("--worst", options->report.worst, "samples that are shown")
      ->check(within(limits::kSamples))
      ->capture_default_str();
  add_out_file(*command, options->out, "--out", "the page, an HTML file")->required();
  command->callback([options, &work] {
    work = [options] {
      options->out.require();
      const Model prepared = api::load_stage(options->prepared, api::Stage::prepared);
      std::optional<Model> integer;
      if (!options->integer.empty()) integer = api::load_stage(options->integer, api::Stage::integer);
      const api::Dataset data = api::load_data(options->data.path, api::classes_of(prepared), options->data.read);
      options->report.verify.preprocess = options->data.preprocess;
      options->report.analyze.quantize.preprocess = options->data.preprocess;
      const api::NetworkReport found =
          api::report(prepared, integer, data, options->report, options->common.settings());
      io::write_file(options->out.path, report::as_html(found));
      print_notes(found.analysis.result.notes);
      print_result(options->common, found, options->out.path);
      return found.proof && found.proof->equal() ? int{kDone} : int{kDifference};
    };
  });
}

}  // namespace halfstep::cli
