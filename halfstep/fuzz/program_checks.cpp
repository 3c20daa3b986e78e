// Checks that a program has the same bits for every CPU level, thread count and batch, and after a round trip through a
// file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/metadata/learned_quantizer.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/engine/eager/call.h"
#include "halfstep/formats/import/import.h"
#include "halfstep/formats/onnx/onnx_file.h"
#include "halfstep/formats/onnx_export/onnx_writer.h"
#include "halfstep/fuzz/checks.h"
#include "halfstep/fuzz/engine_habits.h"
#include "halfstep/fuzz/perturbed_runs.h"
#include "halfstep/train/loop/run_folder.h"

namespace halfstep::fuzz {
namespace {

/// Equal bit for bit, except for the sign and payload of a NaN.
bool are_same(const Tensor& found, const Tensor& expected) {
  if (found.same_bits(expected)) return true;
  if (found.type() != expected.type() || !is_float(found.dtype())) return false;
  for (int64_t i = 0; i < found.size(); ++i) {
    const double a = element(found, i), b = element(expected, i);
    const bool same = std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
    if (!same) return false;
  }
  return true;
}

void require_same(const Tensors& found, const Tensors& expected, const std::string& when) {
  for (const auto& [name, tensor] : expected) {
    if (!found.contains(name) || !are_same(found.at(name), tensor))
      throw Found{fmt::format("output '{}' has other bits {}", name, when)};
  }
}

void require_same(const Model& found, const Model& expected, const std::string& when) {
  if (!(found.graph == expected.graph)) throw Found{"another graph " + when};
  if (found.metadata != expected.metadata) throw Found{"other metadata " + when};
  if (found.tensors.size() != expected.tensors.size()) throw Found{"other tensors " + when};
  for (const auto& [name, tensor] : expected.tensors) {
    if (!found.tensors.contains(name) || !found.tensors.at(name).same_bits(tensor))
      throw Found{fmt::format("tensor '{}' has other bits {}", name, when)};
  }
}

}  // namespace

void check_threads(Trial& trial) {
  Tools& tools = trial.tools();
  for (const Model* model : {&trial.bound(), &trial.integer()}) {
    const Tensors one = run_model(*model, trial.inputs(), tools.pool);
    require_same(run_model(*model, trial.inputs(), tools.two), one, "on 2 threads");
    require_same(run_model(*model, trial.inputs(), tools.four), one, "on 4 threads");
  }
}

void check_levels(Trial& trial) {
  const Model& integer = trial.integer();
  const Tensors usual = run_model(integer, trial.inputs(), trial.tools().pool);
  for (const CpuLevel level : available_cpu_levels())
    require_same(run_model(integer, trial.inputs(), trial.tools().pool, {.level = level}), usual,
                 fmt::format("at level {}", name(level)));
}

void check_batches(Trial& trial) {
  const Network& network = trial.network();
  if (!network.rows || network.samples == 0) throw Skipped{"samples of a batch are not apart"};
  const Model& integer = trial.integer();
  if (!integer.graph.arguments().empty() && integer.graph.arguments().front().dims().front() != kUnknown)
    throw Skipped{"the batch is fixed"};
  const Tensors all = run_model(integer, network.batch_at(0, network.samples), trial.tools().pool);
  for (int64_t i = 0; i < network.samples; ++i) {
    Tensors one = run_model(integer, network.batch_at(i, 1), trial.tools().pool);
    Tensors rows;
    for (const auto& [name, tensor] : all) {
      if (tensor.size() == 0)
        one.erase(name);
      else
        rows.emplace(name, tensor.rows(i, i + 1));
    }
    require_same(one, rows, fmt::format("for sample {} alone", i));
  }
}

namespace {

void check_file(const Model& model, const std::string& stage) {
  const auto bytes = serialize(model);
  const Model again = deserialize(bytes, "fuzz.safetensors");
  require_same(again, model, "out of the file of the " + stage + " Model");
  if (serialize(again) != bytes) throw Found{"other bytes of the file of the " + stage + " Model, written again"};
  const std::string text = print(model.graph);
  const Graph parsed = parse(text, "fuzz.ir");
  if (!(parsed == model.graph)) throw Found{"another graph out of the text of the " + stage + " Model"};
}

}  // namespace

void check_files(Trial& trial) {
  check_file(trial.bound(), "bound");
  check_file(trial.source(), "float");
  check_file(trial.prepared(), "prepared");
  check_file(trial.integer(), "integer");
}

namespace {

using formats::onnx::ExportForm;

std::string exported(const Model& model, ExportForm form, bool approximate) {
  formats::onnx::ExportOptions options{.form = form, .approximate = approximate, .evaluate = eager::call};
  return formats::onnx::export_model(model, options, "fuzz.onnx.data").message;
}

Model imported(const std::string& bytes, const Tensors& inputs) {
  formats::Binding binding;
  binding.values = inputs;
  binding.evaluate = eager::call;
  return formats::import_whole(*formats::onnx::parse(std::as_bytes(std::span(bytes)), "exported.onnx"), binding);
}

/// The outputs of onnxruntime for an exported file. nullopt without onnxruntime.
std::optional<Tensors> engine_outputs(Trial& trial, const std::string& bytes, const Model& model) {
  if (trial.tools().engine == nullptr) return std::nullopt;
  const auto answer = trial.tools().engine->run(bytes, trial.inputs());
  if (!answer.refusal.empty()) {
    const bool lacks = answer.refusal.starts_with("NotImplemented") ||
                       answer.refusal.find("parameter out of computation range") != std::string::npos;
    if (lacks || !trial.tools().engine->run(trial.network().bytes(), trial.inputs()).refusal.empty())
      return std::nullopt;
    throw Found{"onnxruntime refuses the exported file: " + answer.refusal};
  }
  Tensors outputs;
  int number = 0;
  for (const std::string& name : model.graph.body().output_names())
    outputs.emplace(name, answer.outputs.at(std::to_string(number++)));
  return outputs;
}

void check_float_export(Trial& trial) {
  const Model& model = trial.bound();
  const std::string bytes = exported(model, ExportForm::floats, false);
  const Tensors expected = run_model(model, trial.inputs(), trial.tools().pool);
  const Perturbed by_reference = perturbed_runs(model, trial.inputs(), trial.tools().pool);
  const auto require = [&](const Tensors& found, const char* who) {
    const std::string what = difference(found, expected, by_reference);
    if (!what.empty()) throw Found{fmt::format("the exported float network, {}: {}", who, what)};
  };
  require(run_model(imported(bytes, trial.inputs()), trial.inputs(), trial.tools().pool), "imported again");
  const auto outputs = engine_outputs(trial, bytes, model);
  if (!outputs || difference(*outputs, expected, by_reference).empty()) return;
  const std::string habit = engine_habit(trial.network(), expected, *outputs);
  if (!habit.empty()) throw Skipped{habit};
  if (rounds_places(trial.bound().graph)) throw Skipped{"onnxruntime rounds the places of a nearest Resize"};
  require(*outputs, "in onnxruntime");
}

/// Whether it computes in float, index arithmetic included.
bool computes_in_float(const Graph& graph) {
  return std::ranges::any_of(graph.all_ops(), [](Op op) {
    const auto results = op.results();
    return !op.info().codes && std::ranges::any_of(results, [](Value result) { return is_float(result.dtype()); });
  });
}

/// Whether onnxruntime adds in another order than docs/arithmetic.md specifies, with a visible effect. It swaps the
/// operands if the first has one element, and rounds large terms.
bool swaps_operands(const Model& integer, const Tensors& inputs) {
  constexpr double kExact = 0x1p22;
  std::map<std::string, Dims> extents;
  for (const auto& [name, tensor] : inputs) extents.emplace(name, tensor.dims());
  const Model sized = specialize(integer, extents);
  return std::ranges::any_of(sized.graph.all<ops::IntegerAdd>(), [](const ops::IntegerAdd& sum) {
    const double factor = std::max(std::abs(sum.a_scale()), std::abs(sum.b_scale())) / sum.y_scale();
    return count_elements(sum.a().dims()) == 1 && factor * std::numeric_limits<uint8_t>::max() > kExact;
  });
}

/// Codes must be equal if the platform promises it.
void check_integer_export(Trial& trial, ExportForm form) {
  const Model& integer = trial.integer();
  const bool exact = trial.target().platform == "onnxruntime_int8" && form == ExportForm::qoperator &&
                     !computes_in_float(integer.graph);
  const std::string bytes = exported(integer, form, !exact);
  const Tensors expected = run_model(integer, trial.inputs(), trial.tools().pool);
  const Tensors again = run_model(imported(bytes, trial.inputs()), trial.inputs(), trial.tools().pool);
  const auto engine = engine_outputs(trial, bytes, integer);
  if (!exact) return;
  require_same(again, expected, "in the exported file, imported again");
  if (!engine || engine_saturates()) return;
  if (swaps_operands(integer, trial.inputs())) throw Skipped{"onnxruntime adds single elements in another order"};
  require_same(*engine, expected, "in onnxruntime's run of the exported file");
}

}  // namespace

void check_exports(Trial& trial) {
  check_float_export(trial);
  check_integer_export(trial, ExportForm::qdq);
  check_integer_export(trial, ExportForm::qoperator);  // last, because it may be skipped
}

namespace {

/// A folder for a training run, emptied before and after.
class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) { clear(); }
  ~RunFolder() { clear(); }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  void clear() const {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path path_;
};

/// Statistics of a normalization are updated at each step, but not by gradients.
void require_no_statistics(const Model& model) {
  for (const auto& norm : model.graph.all<ops::BatchNorm>()) {
    for (const Value statistics : {norm.mean(), norm.variance()}) {
      if (statistics.is_tensor() && statistics.has_one_use() && statistics.role() == Role::parameter)
        throw Found{fmt::format("running statistics '{}' count as parameters", statistics.name())};
    }
  }
}

/// Whether all gradients may be zero, as those of step functions are.
bool may_be_flat(const Network& network) {
  static constexpr std::string_view kSteps[] = {"Ceil", "Floor", "Round", "Sign"};
  return std::ranges::any_of(network.model.graph().node(), [](const auto& node) {
    return std::ranges::find(kSteps, node.op_type()) != std::end(kSteps);
  });
}

/// Whether slightly larger parameters change the outputs. They do not if all activations are cut off.
bool parameters_matter(const Model& source, const Tensors& inputs, ThreadPool& pool) {
  constexpr float kLarger = 1.01F;
  Model moved = source;
  for (const Value tensor : moved.graph.tensors()) {
    if (tensor.role() != Role::parameter || tensor.dtype() != DType::f32) continue;
    Tensor larger = source.tensors.at(tensor.name()).clone();
    for (float& number : larger.data<float>()) number *= kLarger;
    moved.tensors.insert_or_assign(tensor.name(), std::move(larger));
  }
  const Tensors before = run_model(source, inputs, pool), after = run_model(moved, inputs, pool);
  return std::ranges::any_of(before, [&](const auto& entry) {
    const Value stored = source.graph.tensor(entry.first);
    return !stored && !entry.second.same_bits(after.at(entry.first));
  });
}

/// Whether training steps have a visible effect. The gradient of a threshold, which counts as the next power of two,
/// may be less than the last bit of the threshold.
bool learns(const Model& model) {
  std::set<std::string> thresholds;
  for (const LearnedQuantizer& one : model.metadata.learned_quantizers) thresholds.insert(one.log2_scale);
  return std::ranges::any_of(model.graph.tensors(), [&](Value tensor) {
    return tensor.role() == Role::parameter && !thresholds.contains(tensor.name());
  });
}

}  // namespace

void check_training(Trial& trial) {
  require_no_statistics(trial.bound());
  const Model& start = trial.prepared();
  train::RunOptions options;
  options.fit.epochs = 2;
  options.fit.batch = trial.network().batch;
  options.fit.learning_rate = 1e-3;
  const RunFolder whole(trial.tools().folder / "whole"), parts(trial.tools().folder / "parts");
  options.folder = whole.path();
  const auto outcome = train::run(start, trial.samples(), options, trial.tools().pool);
  if (!std::isfinite(outcome.loss)) throw Found{fmt::format("the loss of training is {}", outcome.loss)};
  constexpr double kRounded = 1e-10;  // in units of the squared spread of the outputs
  const bool may_learn = learns(start) && !may_be_flat(trial.network()) && outcome.loss > kRounded;
  if (may_learn && digest(outcome.model) == digest(start) &&
      parameters_matter(trial.source(), trial.inputs(), trial.tools().pool))
    throw Found{"training moves nothing"};
  options.folder = parts.path();
  const auto stop_in_second = [](const Progress& progress) {
    if (progress.note.starts_with("epoch 2/")) fail(errors::interrupted("the check"));
  };
  try {
    train::run(start, trial.samples(), options, trial.tools().pool, stop_in_second);
    throw Found{"training was not stopped"};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
  }
  options.resume = true;
  const auto resumed = train::run(start, trial.samples(), options, trial.tools().pool);
  require_same(resumed.model, outcome.model, "where training was resumed");
}

}  // namespace halfstep::fuzz
