// Runs the cases of tests/passes/texts/*.ir, and checks the guarantees of all passes: the graph verifies afterwards,
// survives its text form, and a second run changes nothing.
#include <fmt/format.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/core/ir/verify_graph.h"
#include "halfstep/engine/compile/evaluate_operation.h"
#include "halfstep/passes/canonical/clip_forms.h"
#include "halfstep/passes/canonical/code_forms.h"
#include "halfstep/passes/canonical/computed_masks.h"
#include "halfstep/passes/canonical/fold_tails.h"
#include "halfstep/passes/canonical/layer_forms.h"
#include "halfstep/passes/canonical/layers/measure_forms.h"
#include "halfstep/passes/canonical/layers/norm_forms.h"
#include "halfstep/passes/canonical/layers/open_products.h"
#include "halfstep/passes/canonical/layers/open_recurrent.h"
#include "halfstep/passes/canonical/layers/power_forms.h"
#include "halfstep/passes/canonical/layers/prelu_forms.h"
#include "halfstep/passes/canonical/layers/spatial_forms.h"
#include "halfstep/passes/canonical/layers/unit_rows.h"
#include "halfstep/passes/canonical/lone_affines.h"
#include "halfstep/passes/canonical/open_attention.h"
#include "halfstep/passes/canonical/pool_forms.h"
#include "halfstep/passes/canonical/quantizer_forms.h"
#include "halfstep/passes/gradient/autodiff.h"
#include "halfstep/passes/gradient/optimizer.h"
#include "halfstep/passes/graph/close_extents.h"
#include "halfstep/passes/graph/dce.h"
#include "halfstep/passes/graph/open_sums.h"
#include "halfstep/passes/graph/prune_regions.h"
#include "halfstep/passes/graph/run_pass.h"
#include "halfstep/passes/optimize/channels_last.h"
#include "halfstep/passes/optimize/code_tables.h"
#include "halfstep/passes/optimize/coded_regions.h"
#include "halfstep/passes/optimize/cse.h"
#include "halfstep/passes/optimize/fold_constants.h"
#include "halfstep/passes/optimize/fuse_activations.h"
#include "halfstep/passes/optimize/fuse_attention.h"
#include "halfstep/passes/optimize/fuse_residuals.h"
#include "halfstep/passes/optimize/head_products.h"
#include "halfstep/passes/optimize/join_pixels.h"
#include "halfstep/passes/optimize/late_reshapes.h"
#include "halfstep/passes/optimize/phase_convolutions.h"
#include "halfstep/passes/optimize/scan_products.h"
#include "halfstep/passes/optimize/simplify.h"
#include "halfstep/passes/optimize/split_layers.h"
#include "halfstep/passes/quantized/bypass_quantizers.h"
#include "halfstep/passes/quantized/duplicate_weights.h"
#include "halfstep/passes/quantized/pad_channels.h"
#include "halfstep/passes/quantized/quantized_patterns.h"
#include "halfstep/passes/quantized/training_form.h"
#include "tests/kernels/kernel_harness.h"
#include "tests/passes/reference_run.h"
#include "tests/passes/text_case.h"

namespace halfstep::passes {
namespace {

/// A Model on its way through the passes of a case.
struct Work {
  Model model;
  Gradients gradients = {};  ///< gradients of the last autodiff
};

using Arguments = std::vector<std::string>;
struct Pass {
  std::function<void(Work&, const Arguments&)> run;
  bool idempotent = true;  ///< false for passes that append, or that do not accept their own output
};

Mode mode_of(const std::string& text) {
  if (text == "training") return Mode::training;
  if (text == "calibration") return Mode::calibration;
  if (text == "evaluation") return Mode::evaluation;
  fail(errors::record_wrong(fmt::format("set_mode: found '{}', expected training, calibration or evaluation", text)));
}

/// autodiff(LOSS, PARAMETER, ...).
void run_autodiff(Work& work, const Arguments& arguments) {
  work.gradients =
      autodiff(work.model, work.model.graph.value(arguments.at(0)), {arguments.begin() + 1, arguments.end()});
}

/// add_optimizer(KIND) or add_optimizer(KIND, PARAMETER): the unit of PARAMETER is 0.125, it stays positive, and
/// gradients are clipped.
void run_add_optimizer(Work& work, const Arguments& arguments) {
  OptimizerSpec spec;
  spec.kind = arguments.at(0) == "adam" ? OptimizerSpec::Kind::adam : OptimizerSpec::Kind::sgd_momentum;
  spec.weight_decay = 0.25;
  if (arguments.size() > 1) {
    spec.unit[arguments[1]] = Tensor::scalar(0.125F);
    spec.positive.insert(arguments[1]);
    spec.clip_norm = 2.0;
  }
  add_optimizer(work.model, work.gradients, spec);
}

/// quantized_patterns, quantized_patterns(training), or with the names of the operators that stay in float.
void run_quantized_patterns(Work& work, const Arguments& arguments) {
  const bool training = arguments == Arguments{"training"};
  FloatOperators in_float;
  for (const std::string& name : arguments) in_float.emplace(name, "the test says so");
  if (!training) work.model.metadata.float_operators = in_float;
  work.model = quantized_patterns(work.model, training);
}

/// pad_channels(CONVOLUTION, ...) to multiples of 4.
void run_pad_channels(Work& work, const Arguments& arguments) {
  pad_channels(work.model, {.multiple = 4, .above = 2}, {arguments.begin(), arguments.end()});
}

/// fold_lone_affines, or fold_lone_affines(refused) where the platform has no layer for them.
void run_fold_lone_affines(Work& work, const Arguments& arguments) {
  fold_lone_affines(work.model, [&](Op) { return arguments.empty(); });
}

/// Two wrong passes, for tests/passes/texts/run_pass.ir.
void run_replace(Work& work, const Arguments& arguments) {
  work.model.graph.value(arguments.at(0)).replace_all_uses_with(work.model.graph.value(arguments.at(1)));
}
void run_misread(Work& work, const Arguments& arguments) {
  work.model.graph.op(arguments.at(0)).set_operand(0, work.model.graph.value(arguments.at(1)));
}

template <void (*run)(Graph&)>
Pass on_graph() {
  return {[](Work& work, const Arguments&) { run(work.model.graph); }};
}

template <void (*run)(Model&)>
Pass on_model() {
  return {[](Work& work, const Arguments&) { run(work.model); }};
}

const std::map<std::string, Pass>& all_passes() {
  static const std::map<std::string, Pass> passes = {
      {"activations_before_moves", {[](Work& work, const Arguments&) {
         activations_before_moves(work.model.graph, [](Op op) { return op.is<ops::Relu>(); });
       }}},
      {"add_optimizer", {run_add_optimizer, false}},
      {"autodiff", {run_autodiff, false}},
      {"bypass_quantizers", on_model<bypass_quantizers>()},
      {"channels_last", on_model<channels_last>()},
      {"channels_last_codes", on_model<channels_last_codes>()},
      {"clip_forms", on_model<clip_forms>()},
      {"code_forms", on_model<code_forms>()},
      {"computed_masks", on_model<computed_masks>()},
      {"cse", on_graph<cse>()},
      {"dce", {[](Work& work, const Arguments& arguments) {
         if (arguments.empty()) return dce(work.model);
         dce(work.model.graph);
       }}},
      {"duplicate_weights", on_model<duplicate_weights>()},
      {"fold_lone_affines", {run_fold_lone_affines}},
      {"fold_tails", {[](Work& work, const Arguments&) { fold_tails(work.model); }}},
      {"fold_constants", {[](Work& work, const Arguments&) { fold_constants(work.model, compiler::evaluate); }}},
      {"fuse_activations", on_graph<fuse_activations>()},
      {"fuse_attention", on_model<fuse_attention>()},
      {"fuse_curves", on_graph<fuse_curves>()},
      {"fuse_residuals", on_graph<fuse_residuals>()},
      {"close_extents", on_model<close_extents>()},
      {"head_products", on_graph<head_products>()},
      {"join_pixels", on_graph<join_pixels>()},
      {"late_reshapes", on_graph<late_reshapes>()},
      {"layer_forms", on_model<layer_forms>()},
      {"norm_forms", on_model<norm_forms>()},
      {"measure_forms", on_model<measure_forms>()},
      {"open_attention", on_model<open_attention>()},
      {"open_products", {[](Work& work, const Arguments&) { open_products(work.model); }}},
      {"open_recurrent", {[](Work& work, const Arguments&) { open_recurrent(work.model); }}},
      {"open_sums", on_model<open_sums>()},
      {"pad_channels", {run_pad_channels}},
      {"code_tables", on_model<code_tables>()},
      {"coded_regions", on_model<coded_regions>()},
      {"phase_convolutions", on_model<phase_convolutions>()},
      {"scan_products", on_model<scan_products>()},
      {"pool_forms", on_model<pool_forms>()},
      {"power_forms", on_model<power_forms>()},
      {"misread", {run_misread}},
      {"quantized_patterns", {run_quantized_patterns, false}},
      {"quantizer_forms", on_model<quantizer_forms>()},
      {"replace", {run_replace}},
      {"set_mode",
       {[](Work& work, const Arguments& arguments) { set_mode(work.model.graph, mode_of(arguments.at(0))); }}},
      {"prelu_forms", on_model<prelu_forms>()},
      {"prune_regions", on_graph<prune_regions>()},
      {"separate_norm_factors", on_model<separate_norm_factors>()},
      {"simplify", on_graph<simplify>()},
      {"spatial_forms", on_model<spatial_forms>()},
      {"split_code_layers", on_model<split_code_layers>()},
      {"split_layers", on_model<split_layers>()},
      {"unit_rows", on_model<unit_rows>()},
  };
  return passes;
}

bool same(const Model& a, const Model& b) {
  return a.graph == b.graph && std::ranges::equal(a.tensors, b.tensors, [](const auto& x, const auto& y) {
           return x.first == y.first && x.second.same_bits(y.second);
         });
}

void expect_promises_kept(const Pass& pass, const PassCall& call, const Work& work) {
  verify(work.model.graph);
  check(work.model);
  const std::string text = print(work.model.graph);
  EXPECT_TRUE(parse(text) == work.model.graph) << call.name << ": parsed and printed again, the graph is\n"
                                               << line_diff(text, print(parse(text)));
  if (!pass.idempotent) return;
  Work again{work.model};
  pass.run(again, call.arguments);
  EXPECT_TRUE(same(again.model, work.model)) << call.name << ": a second run changes the graph\n"
                                             << line_diff(text, print(again.model.graph));
}

Model model_of(const TextCase& text_case) {
  Model model = sample_model(parse(text_case.input, text_case.file));
  for (const auto& [name, number] : text_case.numbers) std::ranges::fill(model.tensors.at(name).data<float>(), number);
  return model;
}

Model run_passes(const TextCase& text_case) {
  const std::string place = text_case.file;
  Work work{model_of(text_case)};
  verify(work.model.graph);
  for (const PassCall& call : text_case.passes) {
    const auto found = all_passes().find(call.name);
    if (found == all_passes().end())
      fail(errors::record_wrong(fmt::format("{}:{}: unknown pass '{}'", place, text_case.line, call.name)));
    run_pass(call.name, work.model.graph, [&] { found->second.run(work, call.arguments); });
    expect_promises_kept(found->second, call, work);
  }
  return work.model;
}

void expect_error(const TextCase& text_case, const ExpectedError& expected) {
  try {
    const Model model = run_passes(text_case);
    FAIL() << "no error, expected: " << expected.message << "\n" << print(model.graph);
  } catch (const Error& error) {
    const std::string found = error.what();
    const Diagnostic& first = error.diagnostics().front();
    const bool is_named = first.entry->name == expected.message;
    EXPECT_TRUE(is_named || found.find(expected.message) != std::string::npos)
        << "found:    " << first.entry->name << ": " << found << "\nexpected: " << expected.message;
    const std::string line = expected.line == 0 ? "" : fmt::format("{}:{}: ", text_case.file, expected.line);
    EXPECT_TRUE(found.starts_with(line)) << "found:    " << found << "\nexpected: " << line << expected.message;
  }
}

testing::AssertionResult values_agree(const Tensor& before, const Tensor& after, bool exact) {
  constexpr double kRounding = 1e-5;  // relative to the largest magnitude: sums of some dozen products
  if (exact || before.dtype() != DType::f32 || before.type() != after.type()) return kernels::same_bits(before, after);
  return kernels::harness::close_to(before, after, kRounding);
}

void expect_same_values(const TextCase& text_case, const Model& after) {
  const auto wanted = outputs_for_samples(model_of(text_case));
  const auto found = outputs_for_samples(after);
  ASSERT_EQ(wanted.size(), found.size());
  for (const auto& [name, tensor] : wanted) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_TRUE(values_agree(tensor, found.at(name), text_case.values == "exact")) << "output " << name;
  }
}

std::vector<TextCase> all_cases() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(HALFSTEP_SOURCE_DIR "/tests/passes/texts")) {
    if (entry.path().extension() == ".ir") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<TextCase> cases;
  for (const auto& file : files) {
    for (TextCase& text_case : read_cases(file)) cases.push_back(std::move(text_case));
  }
  return cases;
}

class PassText : public testing::Test {
 public:
  explicit PassText(TextCase text_case) : case_(std::move(text_case)) {}

  void TestBody() override {
    SCOPED_TRACE(fmt::format("{}:{}", case_.file, case_.line));
    if (case_.error) return expect_error(case_, *case_.error);
    const Model found = run_passes(case_);
    const Graph wanted = parse(case_.expected.empty() ? case_.input : case_.expected, case_.file);
    EXPECT_TRUE(found.graph == wanted) << line_diff(print(wanted), print(found.graph));
    if (!case_.values.empty()) expect_same_values(case_, found);
  }

 private:
  TextCase case_;
};

const bool kRegistered = [] {
  for (const TextCase& text_case : all_cases()) {
    testing::RegisterTest("PassText", text_case.name.c_str(), nullptr, nullptr, text_case.file.c_str(), text_case.line,
                          [text_case]() -> PassText* { return new PassText(text_case); });
  }
  return true;
}();

}  // namespace
}  // namespace halfstep::passes
