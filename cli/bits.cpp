#include "cli/command.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

/// Keeps checkpoints of fine-tuning next to the result until the result is written.
void name_training_folder(api::TrainOptions& train, repair::Options& repair, const api::OutFile& out) {
  if (repair.resume && !repair::any(repair) && train.epochs == 0)
    fail(errors::nothing_to_resume("neither --repair nor --epochs", "the one to resume"));
  train.resume = repair.resume;
  train.overwrite = out.overwrite && !repair.resume;
  repair.resume = repair.resume && repair::any(repair);
  if (train.epochs > 0) train.folder = out.path.string() + ".training";
}

int choose_bits(api::BitsCommand& command, const Given&) {
  const api::OutFile program{command.program_out, command.out.overwrite};
  if (program.path == command.out.path) fail(errors::output_given_twice("--program-out", program.path.string()));
  const auto claim = require(command.out), program_claim = require(program);
  api::BitsOptions& options = command.options;
  options.allocation.budgets = allocation::parse_budgets(command.budget);
  options.platform = platform_of(command.common, command.target);
  options.prove = !program.path.empty();
  name_training_folder(options.train, options.quantize.repair, command.out);
  name_repair_folder(options.quantize.repair, command.out);
  const auto [network, data] = load_both(command.common, command.model, command.data, options.quantize.preprocess);
  const api::BitsResult result = api::bits(network, data, options, settings_of(command.common));
  api::save(result.allocation.model, command.out.path);
  if (result.proof) api::save(result.proof->integer, program.path);
  repair::remove_checkpoints(options.quantize.repair);
  if (options.train.folder) train::remove_run(*options.train.folder);
  print_notes(result.allocation.notes);
  print_result(command.common, result, command.out.path);
  return result.proof && !result.proof->equivalence.equal() ? kDifference : kDone;
}

}  // namespace

void add_bits(const Program& program) { add_verb<api::BitsCommand>(program, choose_bits); }

}  // namespace halfstep::cli
