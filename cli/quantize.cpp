#include <fmt/format.h>

#include "cli/command.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

/// "conv4=4/8", "conv*=4/" or "relu?=/4": weights before the slash, features after it.
api::LayerBits parse_bits(const std::string& text) {
  const size_t equals = text.rfind('=');
  const size_t slash = text.find('/', equals == std::string::npos ? 0 : equals);
  const auto number = [&](const std::string& digits) -> std::optional<int> {
    if (digits.empty()) return std::nullopt;
    if (digits.size() > 2 || digits.find_first_not_of("0123456789") != std::string::npos)
      fail(errors::option_of_other_form(fmt::format("--bits '{}'", text), digits, "a number of bits"));
    const int bits = std::stoi(digits);
    limits::kBits.require(fmt::format("--bits '{}'", text), bits);
    return bits;
  };
  if (equals == std::string::npos || equals == 0 || slash == std::string::npos || text.size() == equals + 2)
    fail(errors::option_of_other_form("--bits", text, "LAYERS=WEIGHTS/FEATURES, as in 'conv*=4/8'"));
  return {text.substr(0, equals), number(text.substr(equals + 1, slash - equals - 1)), number(text.substr(slash + 1))};
}

struct QuantizeArguments {
  Common common;
  std::filesystem::path model;
  OutFile out;
  DataArguments data;
  TargetOptions target;
  api::QuantizeOptions quantize;
  std::vector<std::string> bits;
};

/// A prepared network with other widths needs no samples; any other is prepared and calibrated.
api::Quantized quantized(QuantizeArguments& arguments) {
  arguments.out.require();
  const api::Platform platform = arguments.target.platform();
  const auto [network, data] = load_both(arguments.model, arguments.data);
  const bool is_prepared = api::stage_of(network) == api::Stage::prepared;
  if (is_prepared && arguments.quantize.repair.any())
    return api::repair(network, data, arguments.quantize, arguments.common.settings());
  if (is_prepared && !arguments.quantize.bits.empty()) return api::change_bits(network, arguments.quantize.bits);
  return api::quantize(network, platform, data, arguments.quantize, arguments.common.settings());
}

}  // namespace

void add_quantize(CLI::App& program, Work& work) {
  const auto options = std::make_shared<QuantizeArguments>();
  CLI::App* command = add_command(
      program, "quantize", "Insert and calibrate the quantizers of a platform",
      "halfstep quantize float.safetensors --platform pow2_int8 --calibrate digits.csv.gz --out prepared.safetensors",
      options->common);
  command
      ->add_option("model", options->model,
                   "float Model, ONNX or Paddle file, or a prepared Model with --bits or --repair")
      ->required();
  add_data(*command, options->data, "--data,--calibrate");
  add_out_file(*command, options->out, "--out", "file for the prepared Model")->required();
  command->add_option("--bits", options->bits,
                      "LAYERS=WEIGHTS/FEATURES: other widths for some layers, as in 'conv*=4/8'");
  command
      ->add_option("--calibration-batch", options->quantize.calibration_batch,
                   "samples of a step of observers that follow steps")
      ->check(within(limits::kBatch))
      ->capture_default_str();
  command->add_option("--calibration-batches", options->quantize.calibration_batches, "steps, at most")
      ->check(within(limits::kCalibrationBatches))
      ->capture_default_str();
  add_max_length(*command, options->quantize.max_length);
  command
      ->add_option("--keep-samples", options->quantize.stored_samples,
                   "how many samples travel with the prepared Model, for verify; 0: none, for privacy")
      ->check(within(limits::kSamples))
      ->capture_default_str();
  add_repair(*command, options->quantize.repair);
  add_target(*command, options->target, options->quantize.widths);
  command->callback([options, &work] {
    work = [options] {
      options->quantize.pad_channels = options->target.pad_channels;
      options->quantize.regions = options->target.regions;
      options->quantize.preprocess = options->data.preprocess;
      for (const std::string& text : options->bits) options->quantize.bits.push_back(parse_bits(text));
      const repair::Options& repair = options->quantize.repair;
      if (repair.resume && !repair.any()) fail(errors::nothing_to_resume("no --repair", "the one to resume"));
      name_repair_folder(options->quantize.repair, options->out);
      const api::Quantized result = quantized(*options);
      api::save(result.model, options->out.path);
      repair::remove_checkpoints(options->quantize.repair);
      print_notes(result.notes);
      print_result(options->common, result, options->out.path);
      return int{kDone};
    };
  });
}

}  // namespace halfstep::cli
