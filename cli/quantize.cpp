#include "cli/command.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

/// Changes the bit widths of a prepared network without samples. Prepares and calibrates any other network.
api::QuantizeResult quantized(const api::QuantizeCommand& command) {
  const api::Platform platform = load_platform(command.common, command.target);
  const auto [network, data] = load_both(command.common, command.model, command.data, command.options.preprocess);
  const api::QuantizeOptions& options = command.options;
  const bool is_prepared = api::stage_of(network) == api::Stage::prepared;
  const api::Settings settings = settings_of(command.common);
  if (is_prepared && repair::any(options.repair)) return api::repair(network, data, options, settings);
  if (is_prepared && !options.bits.empty()) return api::change_bits(network, options.bits);
  return api::quantize(network, platform, data, options, settings);
}

int quantize(api::QuantizeCommand& command, const Given&) {
  repair::Options& repair = command.options.repair;
  if (repair.resume && !repair::any(repair)) fail(errors::nothing_to_resume("no --repair", "the one to resume"));
  name_repair_folder(repair, command.out);
  const auto claim = require(command.out);
  const api::QuantizeResult result = quantized(command);
  api::save(result.model, command.out.path);
  repair::remove_checkpoints(repair);
  print_notes(result.notes);
  print_result(command.common, result, command.out.path);
  return kDone;
}

}  // namespace

void add_quantize(const Program& program) { add_verb<api::QuantizeCommand>(program, quantize); }

}  // namespace halfstep::cli
