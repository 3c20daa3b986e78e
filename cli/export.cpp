#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace halfstep::cli {
namespace {

void print_report(const std::filesystem::path& out, const api::Exported& report, bool as_json) {
  if (as_json) {
    fmt::print("{}\n",
               nlohmann::ordered_json({{"nodes", report.nodes}, {"approximated", report.approximated}}).dump(2));
    return;
  }
  if (!report.approximated.empty())
    fmt::print("codes may differ from the Model's at {} layers: {}\n", report.approximated.size(),
               fmt::join(report.approximated, ", "));
  fmt::print("wrote {}: {} nodes\n", out.string(), report.nodes);
}

int export_for_tools(const Model& model, const OutFile& out, bool as_json) {
  const std::vector<std::string> files = api::export_deploy(model, out.path, out.overwrite);
  if (as_json) fmt::print("{}\n", nlohmann::ordered_json({{"files", files}}).dump(2));
  for (const std::string& name : files) {
    if (!as_json) fmt::print("wrote {}\n", (out.path / name).string());
  }
  return kDone;
}

struct CArguments {
  api::ExportCOptions options;
  DataArguments data;
};

int export_as_c(const Model& model, const OutFile& out, CArguments& c, bool has_data, bool as_json) {
  c.options.overwrite = out.overwrite;
  std::optional<api::Dataset> data;
  if (has_data) data = api::load_data(c.data.path, api::classes_of(model), c.data.read);
  Model network = model;
  train::change_preprocess(network, c.data.preprocess);
  const api::ExportedC written = api::export_c(network, out.path, c.options, data ? &*data : nullptr);
  if (as_json) {
    fmt::print("{}", report::as_json(written));
  } else {
    fmt::print("{}", report::as_text(written, out.path));
  }
  return kDone;
}

void add_c_options(CLI::App& command, CArguments& c) {
  command.add_option("--name", c.options.name,
                     "c: of files and functions, a C identifier; without it made of the network's name");
  command.add_flag("--main", c.options.test_program,
                   "c: also a program that runs samples and compares, of --data or those that a prepared Model keeps");
  command.add_flag("--dump", c.options.hooks, "c: a function that shows the codes of every layer");
  command.add_flag("--float-islands", c.options.float_islands,
                   "c: operators that have no form on codes are float operations");
  add_data(command, c.data);
}

}  // namespace

void add_export(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    std::filesystem::path model;
    OutFile out;
    api::ExportOptions format;
    CArguments c;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = add_command(
      program, "export", "Write a Model as an ONNX file, as C, or as the files that the tools of its chip read",
      "halfstep export integer.safetensors --format qoperator --out model.onnx\n  "
      "halfstep export integer.safetensors --format c --name digits --main --data samples.npz --out "
      "folder\n  "
      "halfstep export prepared.safetensors --format deploy --out folder",
      options->common);
  command->add_option("model", options->model, "Model, or of --format float a foreign file")->required();
  command
      ->add_option("--format", options->format.format,
                   "without it qoperator of an integer Model, float of any other; c: C99 without dependencies; deploy: "
                   "what the prepared Model's platform names")
      ->check(one_of({"float", "qdq", "qoperator", "c", "deploy"}));
  command->add_option("--opset", options->format.opset, "version of ONNX's operators")
      ->check(within(limits::kOpset))
      ->capture_default_str();
  add_out_file(*command, options->out, "--out", "ONNX file to write, or folder of --format c and deploy")->required();
  command->add_flag("--approximate", options->format.approximate,
                    "write the nearest where the format lacks the Model's arithmetic");
  add_c_options(*command, options->c);
  command->callback([options, command, &work] {
    work = [options, command] {
      if (options->format.format == "c")
        return export_as_c(api::load(options->model), options->out, options->c, command->count("--data") > 0,
                           options->common.json);
      if (options->format.format == "deploy")
        return export_for_tools(api::load(options->model), options->out, options->common.json);
      options->out.require();
      const auto exported = api::export_onnx(api::load(options->model), options->out.path, options->format);
      print_report(options->out.path, exported, options->common.json);
      return int{kDone};
    };
  });
}

}  // namespace halfstep::cli
