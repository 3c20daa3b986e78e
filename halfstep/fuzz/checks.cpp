#include "halfstep/fuzz/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/fuzz/engine_habits.h"
#include "halfstep/fuzz/perturbed_runs.h"
#include "halfstep/passes/canonical/open_source.h"
#include "halfstep/passes/quantized/bypass_quantizers.h"
#include "halfstep/passes/quantized/training_form.h"
#include "halfstep/quant/prepare/float_form.h"
#include "halfstep/quant/prepare/foreign_quantizers.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/verify/equivalence/semantics.h"

namespace halfstep::fuzz {
namespace {

void require_close(Trial& trial, const Model& model, const Tensors& found, const Tensors& expected) {
  const std::string what = difference(found, expected, perturbed_runs(model, trial.inputs(), trial.tools().pool));
  if (!what.empty()) throw Found{what};
}

Tensors engine_outputs(Trial& trial) {
  const auto answer = trial.tools().engine->run(trial.bytes(), trial.inputs());
  if (!answer.refusal.empty()) throw Skipped{"onnxruntime: " + message_form(answer.refusal)};
  Tensors outputs;
  int number = 0;
  for (const auto& output : trial.network().model.graph().output())
    outputs.emplace(output.name(), answer.outputs.at(std::to_string(number++)));
  return outputs;
}

/// If Halfstep rejects a network as wrong, onnxruntime must reject it too. A network that onnxruntime also refuses is
/// skipped.
Tensors run_or_blame(Trial& trial) {
  try {
    return run_model(trial.bound(), trial.inputs(), trial.tools().pool);
  } catch (const Error& error) {
    try {
      engine_outputs(trial);
    } catch (const Skipped& others) {
      throw Skipped{others.reason, error.what()};
    }
    if (error.kind() != ErrorKind::bad_input) throw;
    throw Found{fmt::format("rejected as invalid, but onnxruntime runs it: {}", error.what())};
  }
}

}  // namespace

void check_engine(Trial& trial) {
  if (trial.tools().engine == nullptr) throw Skipped{"no onnxruntime"};
  const Tensors found = run_or_blame(trial);
  const auto perturbed = perturbed_runs(trial.bound(), trial.inputs(), trial.tools().pool);
  if (difference(found, engine_outputs(trial), perturbed).empty()) return;
  trial.tools().engine->start();
  const Tensors engine = engine_outputs(trial);
  const std::string what = difference(found, engine, perturbed);
  if (what.empty()) return;
  const std::string habit = engine_habit(trial.network(), found, engine);
  if (!habit.empty()) throw Skipped{habit};
  if (rounds_places(trial.bound().graph)) throw Skipped{"onnxruntime rounds the places of a nearest Resize"};
  throw Found{what};
}

void check_source(Trial& trial) {
  const Network& network = trial.network();
  if (network.expected.empty()) throw Skipped{"no reference outputs"};
  Tensors expected;
  for (const auto& [name, tensor] : network.expected) expected.emplace(name, tensor.rows(0, network.batch));
  require_close(trial, trial.bound(), run_model(trial.bound(), trial.inputs(), trial.tools().pool), expected);
}

namespace {

int64_t bytes_of(const Type& type) {
  return type.is_static() ? count_elements(type.dims) * static_cast<int64_t>(size_of(type.dtype)) : 0;
}

/// Bytes of weights, and of all values for all samples.
int64_t size_of_network(Trial& trial) {
  const Model& network = trial.bound();
  int64_t weights = 0, values = 0;
  for (const auto& [name, tensor] : network.tensors) weights += static_cast<int64_t>(tensor.bytes());
  for (const Value argument : network.graph.arguments()) values += bytes_of(argument.type());
  for (const Op op : network.graph.all_ops()) {
    for (const Value result : op.results()) values += bytes_of(result.type());
  }
  const int64_t batch = std::max<int64_t>(trial.network().batch, 1);
  return weights + values * std::max<int64_t>(ceil_div(trial.samples().size(), batch), 1);
}

#ifdef __SANITIZE_ADDRESS__
constexpr bool kKeepsFreedMemory = true;
#else
constexpr bool kKeepsFreedMemory = false;
#endif

}  // namespace

/// Measured on 600 networks: at most 19 MB, median 40 KB. A pass with quadratic memory or a leak needs more.
void check_memory(Trial& trial) {
  if (kKeepsFreedMemory) throw Skipped{"AddressSanitizer keeps freed memory"};
  constexpr int64_t kFixed = int64_t{48} << 20, kTimes = 32;
  const int64_t size = size_of_network(trial), peak = trial.memory().peak();
  if (peak > kFixed + kTimes * size)
    throw Found{fmt::format("{} bytes at the peak, expected at most {} for a network of {} bytes", peak,
                            kFixed + kTimes * size, size)};
}

void check_reference(Trial& trial) {
  ThreadPool& pool = trial.tools().pool;
  require_close(trial, trial.bound(), run_model(trial.bound(), trial.inputs(), pool),
                run_model(trial.bound(), trial.inputs(), pool, {.reference = true}));
}

/// Preparation takes out the quantizers of the source too.
void check_bypassed(Trial& trial) {
  Model source = clone(trial.source());
  quant::clear_layers(source);
  in_each_block(source.graph, [&] { quant::take_out_quantizers(source); });
  Model plain = trial.prepared();
  passes::set_mode(plain.graph, passes::Mode::evaluation);
  passes::bypass_quantizers(plain);
  ThreadPool& pool = trial.tools().pool;
  require_close(trial, source, run_model(plain, trial.inputs(), pool),
                run_model(source, trial.inputs(), pool, {.reference = true}));
}

void require_same_codes(Trial& trial, const verify::ExecutionPaths& paths) {
  const data::Samples& samples = trial.samples();
  const auto source = [&](int64_t begin, int64_t count) { return samples.inputs(begin, count); };
  const auto report =
      verify::compare_paths(paths, source, data::usable(paths.unquantized, samples.size()),
                            data::batch_of(paths.unquantized, trial.network().batch), trial.tools().pool);
  if (report.equal()) return;
  for (const auto& layer : report.layers) {
    if (layer.differing + layer.parameters_differing == 0) continue;
    throw Found{fmt::format("layer '{}' ({}): {} of {} codes and {} of {} parameters differ", layer.layer.name,
                            layer.layer.op, layer.differing, layer.compared, layer.parameters_differing,
                            layer.parameters_compared)};
  }
  throw Found{"the paths differ"};
}

void check_equivalence(Trial& trial) { require_same_codes(trial, trial.paths()); }

void check_c(Trial& trial) {
  if (!trial.tools().add_c) throw Skipped{"there is no C compiler"};
  if (!trial.network().rows) throw Skipped{"samples of a batch are not apart"};
  verify::ExecutionPaths paths = trial.paths();
  const data::Samples& samples = trial.samples();
  trial.tools().add_c(paths, samples.extents(1));
  const auto source = [&](int64_t begin, int64_t count) { return samples.inputs(begin, count); };
  const int64_t batch = data::batch_of(paths.unquantized, trial.network().batch);
  for (const auto& layer : verify::compare_paths(paths, source, batch, batch, trial.tools().pool).layers) {
    if (layer.engine_differing == 0) continue;
    throw Found{fmt::format("layer '{}' ({}): {} of {} codes differ in C", layer.layer.name, layer.layer.op,
                            layer.engine_differing, layer.engine_compared)};
  }
}

void check_semantics(Trial& trial) {
  const verify::SemanticOptions options{.all = true};
  for (const auto& [layer, semantics] : verify::check_semantics(passes::with_open_source(trial.prepared()),
                                                                trial.integer(), options, trial.tools().pool)) {
    if (semantics.beyond == 0) continue;
    const verify::SemanticFault fault = semantics.first.value_or(verify::SemanticFault());
    throw Found{fmt::format("layer '{}': {} of {} codes are out of tolerance of {}; {} {} is {}, expected {}", layer,
                            semantics.beyond, semantics.compared, fault.says, fault.what, fault.index, fault.found,
                            fault.expected)};
  }
}

std::string message_form(const std::string& message) {
  std::string form;
  for (size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    if (c == '\'' || c == '"') {
      const size_t end = message.find(c, i + 1);
      if (end != std::string::npos) {
        form += "'*'";
        i = end;
        continue;
      }
    }
    const bool in_word =
        i > 0 && (std::isalpha(static_cast<unsigned char>(message[i - 1])) != 0 || message[i - 1] == '_');
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 && !in_word) {
      while (i + 1 < message.size() &&
             (std::isalnum(static_cast<unsigned char>(message[i + 1])) != 0 || message[i + 1] == '.'))
        ++i;
      if (!form.ends_with("#")) form += '#';
    } else {
      form += c;
    }
  }
  for (size_t at; (at = form.find("#, #")) != std::string::npos;) form.replace(at, 4, "#");
  return form;
}

const std::vector<Check>& all_checks() {
  static const std::vector<Check> kChecks = {
      {"engine", "float results against onnxruntime", check_engine},
      {"source", "float results against the expected outputs of the file", check_source},
      {"reference", "fused kernels against references without fusion", check_reference},
      {"bypassed", "the prepared network without its quantizers against the float one", check_bypassed},
      {"equivalence", "training path against integer program, code for code", check_equivalence},
      {"semantics", "integer program against the float operators of the network, in float64", check_semantics},
      {"quality", "integer program against the float network, in dB that its bit widths allow", check_quality},
      {"answers", "samples with another answer than in the float network", check_answers},
      {"parts", "channels within one step of a scale that they share", check_parts},
      {"integers", "layers with a tail, which must have no operator in float", check_integers},
      {"extents", "dynamic dimensions at other extents than the samples'", check_extents},
      {"lengths", "ranges that other extents exceed without a warning", check_lengths},
      {"splits", "scales from files of batch 1, n and dynamic batch, on 1 and 2 threads", check_splits},
      {"threads", "the integer program on 1, 2 and 4 threads", check_threads, 2},
      {"levels", "the integer program at every CPU level", check_levels, 2},
      {"batches", "samples one by one against one batch", check_batches, 2},
      {"files", "Models and texts written and read again", check_files, 2},
      {"exports", "ONNX files that are written", check_exports, 3},
      {"c", "the integer program as C, code for code", check_c, 50},
      {"repairs", "a corrected network on both paths, with one method each", check_repairs, kRepairsEvery},
      {"training", "a training step changes parameters, and a resumed run has the same bits", check_training, 5},
      {"remedies", "objections of inspect to the platform, each with a remedy", check_remedies},
      {"memory", "memory of all checks above against a bound from the network's size", check_memory},
  };
  return kChecks;
}

std::vector<Outcome> look(Trial& trial, std::string_view only, const std::function<void(std::string_view)>& begins) {
  std::vector<Outcome> outcomes;
  std::set<std::string> refusals;
  for (const Check& check : all_checks()) {
    const bool due = only.empty() ? trial.seed() % check.every == 0 : check.name == only;
    if (!due) continue;
    begins(check.name);
    Outcome outcome{std::string(check.name), Verdict::fine, ""};
    try {
      check.run(trial);
    } catch (const Found& found) {
      outcome = {outcome.check, Verdict::found, found.what};
    } catch (const Skipped& skipped) {
      if (!skipped.refusal.empty()) refusals.insert(skipped.refusal);
      outcome = {outcome.check, Verdict::skipped, skipped.reason};
    } catch (const Error& error) {
      const bool meant = error.kind() == ErrorKind::bad_input || error.kind() == ErrorKind::unsupported;
      if (meant && !refusals.insert(error.what()).second) continue;
      const bool known = meant && is_explained(error), helps = meant && has_remedy(error);
      outcome = {outcome.check, known && helps ? Verdict::refused : Verdict::found,
                 (!meant   ? ""
                  : !known ? "refused: "
                  : !helps ? "rejected without a remedy: "
                           : "") +
                     std::string(error.what())};
    } catch (const std::exception& error) {
      outcome = {outcome.check, Verdict::found, fmt::format("not an error of Halfstep: {}", error.what())};
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace halfstep::fuzz
