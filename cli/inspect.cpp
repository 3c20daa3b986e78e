#include <fmt/format.h>

#include "cli/command.h"

namespace halfstep::cli {

void add_inspect(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    InspectRequest request;
  };
  const auto options = std::make_shared<Options>();
  InspectRequest& request = options->request;
  CLI::App* command = add_command(program, "inspect",
                                  "List a Model's network, instructions, values and dependencies; of an ONNX or Paddle "
                                  "file what is in it and not supported",
                                  "halfstep inspect integer.safetensors --explain\n"
                                  "         halfstep inspect model.onnx",
                                  options->common);
  command->add_option("model", request.model, "Model of any stage, an .ir text, or an ONNX or Paddle file")->required();
  command->add_flag("--explain", request.explain, "also why each kernel was chosen and the others refused");
  command->add_flag("--nodes", request.nodes, "of an ONNX or Paddle file also every node, its inputs and its outputs");
  command->add_option("--batch", request.batch, "stands for unknown leading extents")->capture_default_str();
  command->add_option("--place", request.place, "cpu or sim")->capture_default_str();
  command->callback([options, &work] {
    work = [options] {
      const InspectReport report = inspect_model(options->request);
      fmt::print("{}", options->common.json ? report.json : report.text);
      return int{kDone};
    };
  });
}

}  // namespace halfstep::cli
