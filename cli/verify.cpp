#include <fmt/format.h>

#include "cli/command.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

struct VerifyOptions {
  Common common;
  std::vector<std::filesystem::path> paths;
  std::filesystem::path prepared, integer;
  DataArguments data;
  api::VerifyOptions verify;
  std::string meaning = "sampled";
};

/// The folder a user means: the one named, else the current one if it holds a report, else the default of quickstart.
std::filesystem::path folder_of(const VerifyOptions& options) {
  if (options.paths.size() == 1) {
    std::error_code failed;
    if (std::filesystem::is_regular_file(options.paths.front(), failed))
      fail(errors::not_a_quickstart_folder(options.paths.front().string()));
    return options.paths.front();
  }
  std::error_code failed;
  return std::filesystem::exists("report.json", failed) ? "." : "quickstart_out";
}

int verify_and_report(VerifyOptions& options) {
  const auto folder = folder_of(options);
  if (options.paths.size() == 2) {
    options.prepared = options.paths[0];
    options.integer = options.paths[1];
  }
  if (options.prepared.empty()) options.prepared = folder / "prepared.safetensors";
  if (options.integer.empty()) options.integer = folder / "integer.safetensors";
  options.verify.all_meaning = options.meaning == "all";
  const Model prepared = api::load_stage(options.prepared, api::Stage::prepared);
  const Model integer = api::load_stage(options.integer, api::Stage::integer);
  const api::Dataset data = api::load_data(options.data.path, api::classes_of(prepared), options.data.read);
  options.verify.preprocess = options.data.preprocess;
  const auto roads = api::verify(prepared, integer, data, options.verify, options.common.settings());
  print_notes(roads.notes);
  if (options.common.json) {
    fmt::print("{}", report::as_json(roads));
  } else {
    fmt::print("{}", report::as_text(roads));
  }
  return roads.equal() ? kDone : kDifference;
}

}  // namespace

void add_verify(CLI::App& program, Work& work) {
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = add_command(
      program, "verify",
      "Compare the training road with the integer program, code for code, and both with the network that came in",
      "halfstep verify quickstart_out --inject conv4:17\n"
      "         halfstep verify prepared.safetensors integer.safetensors --data samples.npz --with c",
      options->common);
  command
      ->add_option("paths", options->paths,
                   "prepared and integer Model; or a quickstart folder; without it the current one if it holds a "
                   "report.json, else quickstart_out")
      ->expected(1, 2);
  command->add_option("--prepared", options->prepared, "prepared Model instead of the folder's");
  command->add_option("--integer", options->integer, "integer Model instead of the folder's");
  add_data(*command, options->data);
  command
      ->add_option("--batch", options->verify.batch,
                   "samples that run at once; without it 64, or as many as memory allows")
      ->check(within(limits::kBatch));
  command->add_option("--inject", options->verify.inject,
                      "LAYER:INDEX: flip the top bit of that weight code in the integer program first");
  command
      ->add_option(
          "--meaning", options->meaning,
          "sampled or all: layers against the network that came in, on all elements of one sample and at least "
          "4096 of each layer and further sample of at most 64 (and those that the Model keeps), or on all "
          "elements of all samples")
      ->check(one_of({"sampled", "all"}))
      ->capture_default_str();
  command
      ->add_option("--with", options->verify.with,
                   "onnxruntime: run the integer program there too, without graph optimizations, and compare every "
                   "layer's codes; c: the same with a program in C")
      ->check(one_of({"onnxruntime", "c"}));
  command
      ->add_option("--cc", options->verify.c.compiler, "with c: the compiler, as in 'arm-linux-gnueabihf-gcc -static'")
      ->capture_default_str();
  command->add_option("--run", options->verify.c.runner, "with c: what runs the program, as in qemu-arm");
  command->add_option(
      "--c", options->verify.c.folder,
      "with c: a folder that the integer program was exported to with --dump, instead of a new program");
  command->add_option("--time-limit", options->verify.c.seconds, "with c: seconds for the compiler and for each batch")
      ->check(within(limits::kSeconds))
      ->capture_default_str();
  command->add_option("--exported", options->verify.exported,
                      "with onnxruntime: an ONNX file that the integer program was exported to, instead of a new one");
  command->add_flag(
      "--variants", options->verify.variants,
      "with onnxruntime: report what differs with its graph optimizations and in the QDQ form, with every "
      "layer as an output, which limits what can be fused, and with the network's outputs alone; no failure");
  command->callback([options, &work] { work = [options] { return verify_and_report(*options); }; });
}

}  // namespace halfstep::cli
