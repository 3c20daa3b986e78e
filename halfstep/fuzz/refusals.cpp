// Refusals that random networks trigger for known reasons. Any other refusal is a finding.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/fuzz/checks.h"

namespace halfstep::fuzz {
namespace {

using Names = std::set<std::string_view>;

/// Missing support in formats: refusals of importers and exporters. The entry names the missing activation.
bool is_lack_of_a_format(const ErrorEntry& entry) {
  return entry.kind == ErrorKind::unsupported && entry.room.starts_with("formats/");
}

const Names kExplained = {
    // Depends on values that only a run has.
    "extent_needed", "dims_unknown", "extents_not_known", "dynamic_value_on_device", "window_of_dynamic_dims",
    "gradient_extent_unknown",
    // Networks that cannot be quantized at all or for this platform.
    "network_without_layer", "network_without_operator", "network_quantized_already", "network_converted_already",
    "codes_without_quantizer", "quantizer_scale_in_use", "quantizer_changes_type", "calibration_input_constant",
    "calibration_saw_no_number", "elements_not_finite", "accumulator_overflow", "channel_accumulator_overflow",
    "value_not_finite", "no_output_to_learn_from", "channels_not_a_multiple", "layer_not_requantizable",
    "no_requantization_factor", "bits_not_legal", "operator_refused", "padded_weight_computed",
    "code_form_lacks_member", "kernel_product_too_deep",
    // Training.
    "layer_not_trainable", "training_diverged", "operator_without_gradient", "loop_state_without_gradient",
    "parameter_not_reached", "added_input_name_taken"};

/// Networks that are wrong, or that accept only one number of samples without declaring it. If onnxruntime runs one,
/// that is a finding. Their messages name the error and need no remedy.
const Names kWrong = {"operand_dims",
                      "output_dims",
                      "operator_rule",
                      "axis_missing",
                      "axis_twice",
                      "permutation_wrong",
                      "reshape_dims",
                      "reshape_size",
                      "no_broadcast",
                      "no_product",
                      "operand_ranks",
                      "operands_differ",
                      "values_count",
                      "scale_dims",
                      "kernel_too_large",
                      "squeezed_axis",
                      "batch_dims_differ",
                      "positions_depth",
                      "not_a_multiple",
                      "einsum_term",
                      "einsum_extents",
                      "attributes_unfit",
                      "operand_index_out_of_range",
                      "label_out_of_classes"};

bool is_wrong(const Diagnostic& one) { return kWrong.contains(one.entry->name); }

}  // namespace

bool is_explained(const Error& refusal) {
  return std::ranges::any_of(refusal.diagnostics(), [](const Diagnostic& one) {
    return is_wrong(one) || kExplained.contains(one.entry->name) || is_lack_of_a_format(*one.entry);
  });
}

bool has_remedy(const Error& refusal) {
  return std::ranges::all_of(refusal.diagnostics(),
                             [](const Diagnostic& one) { return !one.remedy.empty() || is_wrong(one); });
}

void check_remedies(Trial& trial) {
  for (const Diagnostic& one : trial.tools().objections_of(trial.source(), trial.target())) {
    if (one.remedy.empty()) throw Found{fmt::format("inspect names no remedy: {}: {}", one.where, one.reason())};
  }
}

}  // namespace halfstep::fuzz
