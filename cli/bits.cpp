#include <utility>

#include "cli/command.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

void add_fine_tuning(CLI::App& command, api::TrainOptions& train) {
  command.add_option("--epochs", train.epochs, "fine-tune the result for so many epochs, keeping its best state")
      ->check(within(limits::kTuneEpochs))
      ->capture_default_str();
  command.add_option("--batch", train.batch, "with --epochs: samples of a step")
      ->check(within(limits::kBatch))
      ->capture_default_str();
  command.add_option("--learning-rate", train.learning_rate, "with --epochs: peak of the schedule; 0.001 without it")
      ->check(within(limits::kLearningRate));
}

/// One --overwrite says it of both.
void require_outputs(OutFile& prepared, OutFile& integer) {
  if (integer.path == prepared.path) fail(errors::output_given_twice("--integer", integer.path.string()));
  prepared.require();
  integer.overwrite = prepared.overwrite;
  integer.require();
}

/// Checkpoints of the fine-tuning lie beside the result until that is written.
void name_training_folder(api::TrainOptions& train, repair::Options& repair, const OutFile& out) {
  if (repair.resume && !repair.any() && train.epochs == 0)
    fail(errors::nothing_to_resume("neither --repair nor --epochs", "the one to resume"));
  train.resume = repair.resume;
  train.overwrite = out.overwrite && !repair.resume;
  repair.resume = repair.resume && repair.any();
  if (train.epochs > 0) train.folder = out.path.string() + ".training";
}

}  // namespace

void add_bits(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    std::filesystem::path model;
    OutFile out, integer;
    DataArguments data;
    TargetOptions target;
    api::BitsOptions bits;
    std::string budget;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = add_command(
      program, "bits", "Choose the bits of every layer by what the network may cost",
      "halfstep bits prepared.safetensors --budget 'size<=60kB' --data digits.csv.gz --out mixed.safetensors\n"
      "         halfstep bits float.onnx --platform magik_t40 --budget 'size<=60kB' --data photos --repair auto "
      "--epochs "
      "2 --out mixed.safetensors --integer integer.safetensors",
      options->common);
  command->add_option("model", options->model, "prepared Model; or float Model, ONNX or Paddle file with --platform")
      ->required();
  command
      ->add_option("--budget", options->budget,
                   "latency<=3ms, size<=200kB, bitops<=1.5G: one, or several with commas, in quotes")
      ->required();
  add_data(*command, options->data);
  options->data.read.samples = options->bits.how.samples;
  command->get_option("--samples")
      ->description("how many samples measure what a width costs, at most, drawn by --seed; 0: all")
      ->capture_default_str();
  add_out_file(*command, options->out, "--out", "file for the prepared Model")->required();
  command->add_option("--table", options->bits.how.table,
                      "csv of a board: layer,weights,features,milliseconds; without it latency is measured here");
  command->add_option("--front", options->bits.how.front, "points of the front between the cheapest and the best")
      ->check(within(limits::kFront))
      ->capture_default_str();
  command->add_flag("--choose-edges", options->bits.how.with_edges,
                    "also the widths of the first and last layers, which keep their own without it");
  add_max_length(*command, options->bits.quantize.max_length);
  add_repair(*command, options->bits.quantize.repair);
  add_fine_tuning(*command, options->bits.train);
  command->add_option("--integer", options->integer.path,
                      "convert the result too, verify it code for code, and write the integer program there");
  add_islands_option(*command, options->bits.convert);
  add_target(*command, options->target, options->bits.quantize.widths);
  CLI::Option* platform = command->get_option("--platform");
  platform->default_str("");
  command->callback([options, platform, &work] {
    const bool is_named = platform->count() > 0;
    work = [options, is_named] {
      require_outputs(options->out, options->integer);
      api::BitsOptions& how = options->bits;
      how.how.budgets = bits::parse_budgets(options->budget);
      if (is_named) how.platform = options->target.platform();
      how.quantize.pad_channels = options->target.pad_channels;
      how.quantize.regions = options->target.regions;
      how.quantize.preprocess = options->data.preprocess;
      how.how.samples = std::exchange(options->data.read.samples, 0);
      how.prove = !options->integer.path.empty();
      name_training_folder(how.train, how.quantize.repair, options->out);
      name_repair_folder(how.quantize.repair, options->out);
      const auto [network, data] = load_both(options->model, options->data);
      const api::Bits result = api::bits(network, data, how, options->common.settings());
      api::save(result.result.model, options->out.path);
      if (result.proof) api::save(result.proof->integer, options->integer.path);
      repair::remove_checkpoints(how.quantize.repair);
      if (!how.train.folder.empty()) train::remove_run(how.train.folder);
      print_notes(result.result.notes);
      print_result(options->common, result, options->out.path);
      return int{result.proof && !result.proof->roads.equal() ? kDifference : kDone};
    };
  });
}

}  // namespace halfstep::cli
