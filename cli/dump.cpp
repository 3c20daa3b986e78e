#include <fmt/format.h>

#include "cli/command.h"

namespace halfstep::cli {

void add_dump_layout(CLI::App& command, api::DumpOptions& dump) {
  auto& layout = dump.layout;
  command
      .add_option("--layout", layout.order,
                  "nchw, nhwc or ndhwcB (blocks of B channels), instead of what the platform says")
      ->type_name("ORDER");
  command
      .add_option("--packing", layout.packing,
                  "codes of at most 4 bits: one in a byte, or two with the first in the low or the high half")
      ->check(one_of({"none", "low_first", "high_first"}));
  command.add_flag("--offset,!--no-offset", layout.offset, "flip the top bit of codes: unsigned ones less 128");
  command
      .add_option("--border", layout.border,
                  "rows above and below, columns left and right of each image, as in 1,1,1,1")
      ->delimiter(',')
      ->check(within(limits::kBorder))
      ->expected(4);
  command.add_flag("--big-endian", layout.big_endian, "numbers of several bytes with the highest first");
}

void add_dumped_samples(CLI::App& command, DataArguments& data, const std::string& flags) {
  data.read.samples = 1;
  add_data(command, data, flags);
}

void add_dump(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    std::filesystem::path model;
    OutFile out;
    DataArguments data;
    api::DumpOptions dump;
    bool no_parameters = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      add_command(program, "dump", "Write the values of a network on samples as files, in the layout of a board",
                  "halfstep dump integer.safetensors --data samples.npz --layers 'conv*' --layout ndhwc32 --out dumps\n"
                  "         halfstep dump prepared.safetensors --samples 4 --out dumps",
                  options->common);
  command->add_option("model", options->model, "Model of any stage, or a file of ONNX or Paddle")->required();
  add_dumped_samples(*command, options->data);
  command
      ->add_option("--layers", options->dump.layers,
                   "patterns of layers, as in 'conv*' or op:integer_conv2d; all without it")
      ->delimiter(',');
  add_dump_layout(*command, options->dump);
  command->add_option("--format", options->dump.format, "bin: bare; npy: arrays of NumPy; txt: a number for each line")
      ->check(one_of({"bin", "npy", "txt"}))
      ->capture_default_str();
  command->add_flag("--reals", options->dump.reals, "what codes stand for, instead of codes");
  command->add_flag("--no-parameters", options->no_parameters, "neither weights nor biases, multipliers, shifts");
  command->add_option("--with", options->dump.with, "onnxruntime: the integer program's codes as that engine has them")
      ->check(one_of({"onnxruntime"}));
  add_out_file(*command, options->out, "--out", "folder to write, with manifest.json")->required();
  command->callback([options, &work] {
    work = [options] {
      options->dump.parameters = !options->no_parameters;
      options->dump.preprocess = options->data.preprocess;
      const auto pair = load_both(options->model, options->data);
      const auto manifest = api::dump(pair.network, pair.data, options->out.path, options->dump, options->out.overwrite,
                                      options->common.settings());
      fmt::print("{}", options->common.json ? report::as_json(manifest) : report::as_text(manifest));
      return int{kDone};
    };
  });
}

}  // namespace halfstep::cli
