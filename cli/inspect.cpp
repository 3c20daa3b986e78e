#include "cli/command.h"

namespace halfstep::cli {
namespace {

/// Prints an inspection. The exit code is "not supported" if the network cannot run on the target.
template <class Inspection>
int print_inspection(const Inspection& found, const api::InspectCommand& command) {
  if (command.explain && !command.common.json)
    fmt::print("{}", report::as_explained_text(found));
  else
    print(command.common, found);
  return found.target && !found.target->holds() ? kUnsupported : kDone;
}

/// Prints the quantization report of a prepared network, or the history of one tensor.
int print_audit(const api::InspectCommand& command) {
  const Model model = api::load(command.model);
  const api::QuantizeResult found = api::audit(model);
  if (command.why.empty())
    print(command.common, found);
  else
    print(command.common, quant::story_of(model, found.audit, command.why));
  return kDone;
}

int inspect(api::InspectCommand& command, const Given&) {
  if (command.audit || !command.why.empty()) return print_audit(command);
  api::InspectOptions& options = command.inspect;
  if (auto platform = platform_of(command.common, command.target))
    options.target = api::Target{std::move(*platform), command.quantize.prepare, command.quantize.pad_channels,
                                 command.convert, command.quantize.regions};
  const std::filesystem::path& path = command.model;
  const bool is_text = path.extension() == ".ir";
  if (!is_text && formats::is_foreign(path)) return print_inspection(api::inspect_file(path, options), command);
  const Model model = is_text ? api::load_text(path, 0) : api::load(path);
  return print_inspection(api::inspect(model, options), command);
}

}  // namespace

void add_inspect(const Program& program) { add_verb<api::InspectCommand>(program, inspect); }

}  // namespace halfstep::cli
