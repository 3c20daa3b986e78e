#include "cli/command.h"

namespace halfstep::cli {

void add_convert(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    std::filesystem::path model;
    OutFile out;
    quant::ConvertOptions convert;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = add_command(program, "convert", "Turn a prepared Model into an integer program",
                                  "halfstep convert prepared.safetensors --out integer.safetensors", options->common);
  command->add_option("model", options->model, "prepared Model")->required();
  add_out_file(*command, options->out, "--out", "file for the integer Model")->required();
  add_islands_option(*command, options->convert);
  command->callback([options, &work] {
    work = [options] {
      options->out.require();
      const auto conversion = api::convert(api::load_stage(options->model, api::Stage::prepared), options->convert);
      api::save(conversion.model, options->out.path);
      print_result(options->common, conversion, options->out.path);
      return int{kDone};
    };
  });
}

}  // namespace halfstep::cli
