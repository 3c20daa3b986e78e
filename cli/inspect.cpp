#include <fmt/format.h>

#include "cli/command.h"

namespace halfstep::cli {
namespace {

/// The exit code: what stands between a network and its target is not supported.
template <class Inspection>
int print(const Inspection& found, bool explain, bool as_json) {
  fmt::print("{}", as_json ? report::as_json(found) : report::as_text(found, explain));
  return found.target && !found.target->holds() ? kUnsupported : kDone;
}

/// How a prepared network is quantized; with a name, the story of that tensor alone.
int print_audit(const Model& model, const std::string& tensor, bool as_json) {
  const api::Quantized found = api::audit(model);
  if (tensor.empty()) {
    fmt::print("{}", as_json ? report::as_json(found) : report::as_text(found));
  } else {
    const auto story = quant::story_of(model, found.audit, tensor);
    fmt::print("{}", as_json ? report::as_json(story) : report::as_text(story));
  }
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    std::filesystem::path model;
    api::InspectOptions inspect;
    std::string place = "cpu";
    bool explain = false, audit = false;
    std::string why;
    TargetOptions target;
    quant::PrepareOptions widths;
    quant::ConvertOptions convert;
    std::optional<api::Target> asked() const {
      if (!target.name.empty())
        return api::Target{target.platform(), widths, target.pad_channels, convert, target.regions};
      return std::nullopt;
    }
  };
  const auto options = std::make_shared<Options>();
  options->target.name.clear();
  CLI::App* command = add_command(program, "inspect",
                                  "List a Model's network, instructions, values and dependencies; of an ONNX or Paddle "
                                  "file what is in it and not supported; with --platform what quantize, convert and "
                                  "train would refuse, and what to do about it (then the exit code is 3)",
                                  "halfstep inspect integer.safetensors --explain\n"
                                  "         halfstep inspect model.onnx --platform magik_t40",
                                  options->common);
  command->add_option("model", options->model, "Model of any stage, an .ir text, or an ONNX or Paddle file")
      ->required();
  command->add_flag("--explain", options->explain, "also why each kernel was chosen and the others refused");
  command->add_flag("--audit", options->audit,
                    "of a prepared Model what quantize said: every quantizer, what is in float");
  command->add_option("--why", options->why,
                      "of a prepared Model all about one tensor: why it has a quantizer or none, by name");
  command->add_flag("--nodes", options->inspect.nodes,
                    "of an ONNX or Paddle file also every node, its inputs and its outputs");
  command->add_option("--batch", options->inspect.batch, "stands for unknown leading extents")
      ->check(within(limits::kBatch))
      ->capture_default_str();
  command->add_option("--place", options->place, "cpu or sim")->capture_default_str();
  add_target(*command, options->target, options->widths);
  add_islands_option(*command, options->convert);
  command->callback([options, &work] {
    work = [options] {
      if (options->audit || !options->why.empty())
        return print_audit(api::load(options->model), options->why, options->common.json);
      options->inspect.target = options->asked();
      options->inspect.place = parse_device(options->place);
      const std::filesystem::path& path = options->model;
      const bool is_text = path.extension() == ".ir";
      if (!is_text && formats::is_foreign(path))
        return print(api::inspect_file(path, options->inspect), options->explain, options->common.json);
      const Model model = is_text ? api::load_text(path, 0) : api::load(path);
      return print(api::inspect(model, options->inspect), options->explain, options->common.json);
    };
  });
}

}  // namespace halfstep::cli
