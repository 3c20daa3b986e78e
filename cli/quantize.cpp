#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/audit_table.h"
#include "cli/command.h"
#include "cli/islands.h"

namespace halfstep::cli {
namespace {

/// "conv4=4/8", "conv*=4/" or "relu?=/4": weights before the slash, features after it.
LayerBits parse_bits(const std::string& text) {
  const size_t equals = text.rfind('=');
  const size_t slash = text.find('/', equals == std::string::npos ? 0 : equals);
  const auto number = [&](const std::string& digits) -> std::optional<int> {
    if (digits.empty()) return std::nullopt;
    if (digits.size() > 2 || digits.find_first_not_of("0123456789") != std::string::npos)
      fail("--bits '{}': found '{}', expected a number of bits", text, digits);
    return std::stoi(digits);
  };
  if (equals == std::string::npos || equals == 0 || slash == std::string::npos)
    fail("--bits '{}': expected LAYERS=WEIGHTS/FEATURES, as in 'conv*=4/8'", text);
  return {text.substr(0, equals), number(text.substr(equals + 1, slash - equals - 1)), number(text.substr(slash + 1))};
}

}  // namespace

void add_quantize(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    QuantizeRequest request;
    PreprocessOptions preprocess;
    std::vector<std::string> overrides, bits;
  };
  const auto options = std::make_shared<Options>();
  QuantizeRequest& request = options->request;
  CLI::App* command = add_command(
      program, "quantize", "Insert and calibrate the quantizers of a platform",
      "halfstep quantize float.safetensors --platform pow2_int8 --calibrate digits.csv.gz --out prepared.safetensors",
      options->common);
  command->add_option("model", request.model, "float Model, ONNX or Paddle file, or a prepared Model with --bits")
      ->required();
  command->add_option("--calibrate", request.calibrate, "samples to calibrate on; the embedded digits without it");
  command->add_option("--out", request.out, "file for the prepared Model")->required();
  command->add_option("--bits", options->bits,
                      "LAYERS=WEIGHTS/FEATURES: other widths for some layers, as in 'conv*=4/8'");
  command
      ->add_option("--keep-samples", request.keep_samples,
                   "so many samples travel with the prepared Model, for verify; 0: none, for privacy")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_preprocess(*command, options->preprocess);
  add_target(*command, request.target, options->overrides);
  command->callback([options, &work] {
    work = [options] {
      options->request.preprocess = options->preprocess.given();
      options->request.target.overrides = split_overrides(options->overrides);
      for (const std::string& text : options->bits) options->request.bits.push_back(parse_bits(text));
      const QuantizeReport report = quantize_model(options->request, options->common.settings());
      if (options->common.json) {
        fmt::print("{}\n", nlohmann::ordered_json({{"samples", report.samples},
                                                   {"audit", audit_json(report.audit)},
                                                   {"float_islands", islands_json(report.islands)},
                                                   {"preprocess", report.preprocess},
                                                   {"platform", report.platform}})
                               .dump(2));
      } else {
        fmt::print("{}\n{}\n", report.platform, audit_table(report.audit));
        if (report.samples > 0)
          fmt::print("calibrated on {} samples; raw values are preprocessed by {}\n", report.samples,
                     report.preprocess);
        if (!report.islands.empty())
          fmt::print("{}convert needs --float-islands to keep them\n", islands_text(report.islands));
        fmt::print("wrote {}\n", options->request.out.string());
      }
      return int{kDone};
    };
  });
}

}  // namespace halfstep::cli
