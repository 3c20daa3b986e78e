#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/islands.h"
#include "cli/table.h"

namespace halfstep::cli {
namespace {

void print_report(const std::filesystem::path& out, const quant::Conversion& report, bool as_json) {
  if (as_json) {
    auto layers = nlohmann::ordered_json::array();
    for (const auto& proof : report.proofs)
      layers.push_back(
          {{"layer", proof.layer}, {"accumulator_bound", proof.bound}, {"accumulator_limit", proof.limit}});
    fmt::print(
        "{}\n",
        nlohmann::ordered_json({{"accumulators", layers}, {"float_islands", islands_json(report.islands)}}).dump(2));
    return;
  }
  Table table({"layer", "accumulator at most", "may reach", "share"});
  for (const auto& proof : report.proofs)
    table.add({proof.layer, std::to_string(proof.bound), std::to_string(proof.limit),
               fmt::format("{:.3f} %", 100.0 * static_cast<double>(proof.bound) / static_cast<double>(proof.limit))});
  fmt::print(
      "{}\n{}\nwrote {}\n", table.text(),
      report.islands.empty() ? "no float operator between quantize and dequantize" : islands_text(report.islands),
      out.string());
}

}  // namespace

void add_convert(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    std::filesystem::path model, out;
    quant::ConvertOptions convert;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = add_command(program, "convert", "Turn a prepared Model into an integer program",
                                  "halfstep convert prepared.safetensors --out integer.safetensors", options->common);
  command->add_option("model", options->model, "prepared Model")->required();
  command->add_option("--out", options->out, "file for the integer Model")->required();
  add_islands_option(*command, options->convert);
  command->callback([options, &work] {
    work = [options] {
      io::require_file_target(options->out);
      const auto conversion = api::convert(api::load_stage(options->model, api::Stage::prepared), options->convert);
      api::save(conversion.model, options->out);
      print_report(options->out, conversion, options->common.json);
      return int{kDone};
    };
  });
}

}  // namespace halfstep::cli
