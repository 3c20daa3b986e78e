#include "halfstep/engine/losses/losses.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/status.h"
#include "halfstep/engine/capture/apply.h"
#include "halfstep/engine/capture/tracing.h"
#include "halfstep/engine/losses/errors.h"
#include "halfstep/engine/losses/formulas.h"
#include "halfstep/engine/losses/terms.h"

namespace halfstep::losses {
namespace {

using Kind = Operand::Kind;
using Target = LossInfo::Target;

constexpr double kUnlimited = 1e30;
constexpr Limits kFromZero{0, kUnlimited, false}, kAboveZero{0, kUnlimited, false, true};

const std::vector<Operand>& output_and_target() {
  static const std::vector<Operand> kOperands = {{"output", Kind::output}, {"target", Kind::target}};
  return kOperands;
}

/// The target in the form of the output, where every element of the output has one of the target.
Array like_output(const LossInfo& info, const Array& output, const Array& target) {
  if (count_elements(output.dims()) != count_elements(target.dims()) || output.dims()[0] != target.dims()[0])
    refuse_extents(info.name.c_str(), output, target, "a target for each element of the output");
  return reshape(cast_like(target, output), output.dims());
}

/// Position of the target among the operands, or nothing.
std::optional<size_t> target_of(const LossInfo& info) {
  const auto found = std::ranges::find(info.operands, Kind::target, &Operand::kind);
  if (found == info.operands.end()) return std::nullopt;
  return static_cast<size_t>(found - info.operands.begin());
}

void require_operands(const LossInfo& info, const Arrays& operands) {
  for (size_t i = 0; i < info.operands.size(); ++i) {
    if (!operands[i] && info.operands[i].kind != Kind::length)
      fail(errors::loss_operand_missing(info.name, info.operands[i].name));
    if (operands[i]) capture::note_extents(operands[i]);
  }
  const Array& output = operands[0];
  for (size_t i = 0; i < operands.size(); ++i) {
    if (info.operands[i].kind == Kind::output && operands[i].dims() != output.dims())
      refuse_extents(info.name.c_str(), output, operands[i], "outputs of equal extents");
  }
  if (output.dims().empty()) refuse_extents(info.name.c_str(), output, operands.back(), "an output with samples");
  if (info.target == Target::boxes && output.dims().back() != 4)
    refuse_extents(info.name.c_str(), output, operands[1], "the corners x1 y1 x2 y2 of boxes along the last axis");
}

/// Replaces ignored elements of the target by a value that has a finite loss, and returns which count.
Array take_ignored(const LossInfo& info, Arrays& operands, double ignore) {
  const auto at = target_of(info);
  if (!at || info.target == Target::none) fail(errors::loss_ignores_nothing(info.name));
  Array& target = operands[*at];
  const Array& output = operands[0];
  const Array ignored = is_equal(target, ignore);
  const Array instead = info.target == Target::boxes ? unary("stop_gradient", output) : number(0, target);
  target = select(ignored, instead, target);
  Array kept = select(ignored, number(0, output), number(1, output));
  if (info.target != Target::boxes) return kept;
  return capture::apply("reduce_min", {kept}, {{"axes", std::vector<int64_t>{-1}}, {"keep_dims", false}});
}

Array reduced(const LossInfo& info, const Array& elements, const Array& weight, Reduction reduction) {
  Array weighted = weight ? elements * weight : elements;
  if (weighted.dims() != elements.dims()) refuse_extents(info.name.c_str(), elements, weight, "a weight for each loss");
  if (reduction == Reduction::none) return weighted;
  Array total = sum(weighted, axes_from(0, weighted));
  if (reduction == Reduction::sum) return total;
  const auto count = static_cast<double>(std::max<int64_t>(1, count_elements(elements.dims())));
  if (!weight) return total * (1 / count);
  const double repeats = count / static_cast<double>(std::max<int64_t>(1, count_elements(weight.dims())));
  const Array weights = sum(weight, axes_from(0, weight)) * repeats;
  return total / select(is_equal(weights, 0), number(1, weights), weights);
}

Array product(const Array& a, const Array& b) { return a && b ? a * b : a ? a : b; }

}  // namespace

void refuse_extents(const char* loss, const Array& output, const Array& target, const char* expected) {
  fail(errors::loss_extents_differ(loss, to_string(output.type()), target ? to_string(target.type()) : "none",
                                   expected));
}

const std::vector<LossInfo>& all_losses() {
  static const std::vector<LossInfo> kLosses = {
      {"mse", output_and_target(), {}, Target::elements, mse},
      {"l1", output_and_target(), {}, Target::elements, l1},
      {"smooth_l1", output_and_target(), {{"beta", 1, kFromZero}}, Target::elements, smooth_l1},
      {"huber", output_and_target(), {{"delta", 1, kAboveZero}}, Target::elements, huber},
      {"bce_with_logits", output_and_target(), {{"pos_weight", 1, kAboveZero}}, Target::elements, bce_with_logits},
      {"focal",
       output_and_target(),
       {{"alpha", 0.25, {-1, 1, false}}, {"gamma", 2, {0, 100, false}}},
       Target::elements,
       focal},
      {"iou", output_and_target(), {}, Target::boxes, iou},
      {"giou", output_and_target(), {}, Target::boxes, giou},
      {"diou", output_and_target(), {}, Target::boxes, diou},
      {"ciou", output_and_target(), {}, Target::boxes, ciou},
      {"cross_entropy", output_and_target(), {{"label_smoothing", 0, {0, 1, false}}}, Target::positions, cross_entropy},
      {"dice", output_and_target(), {{"smooth", 1, kAboveZero}}, Target::areas, dice},
      {"ctc",
       {{"output", Kind::output},
        {"target", Kind::target},
        {"input_lengths", Kind::length},
        {"target_lengths", Kind::length}},
       {{"blank", 0, {0, 1 << 24}}},
       Target::none,
       ctc},
      {"cosine_embedding",
       {{"output", Kind::output}, {"other", Kind::output}, {"target", Kind::target}},
       {{"margin", 0, {-1, 1, false}}},
       Target::positions,
       cosine_embedding},
      {"triplet_margin",
       {{"output", Kind::output}, {"positive", Kind::output}, {"negative", Kind::output}},
       {{"margin", 1, kAboveZero}, {"p", 2, {1, 100, false}}},
       Target::none,
       triplet_margin},
  };
  return kLosses;
}

const LossInfo& require_loss(std::string_view name) {
  std::vector<std::string> names;
  for (const LossInfo& info : all_losses()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  fail(errors::loss_unknown(name, known_names(name, names)));
}

Array loss(const LossInfo& info, Arrays operands, const std::vector<double>& options, const Reduced& how) {
  HS_CHECK(operands.size() == info.operands.size() && options.size() == info.options.size());
  for (size_t i = 0; i < options.size(); ++i)
    info.options[i].range.require(fmt::format("{}: {}", info.name, info.options[i].name), options[i]);
  require_operands(info, operands);
  if (info.target == Target::elements || info.target == Target::boxes)
    operands[1] = like_output(info, operands[0], operands[1]);
  Array kept;
  if (how.ignore) kept = take_ignored(info, operands, *how.ignore);
  const Array elements = info.elements({operands, options, kept, how.reduction});
  return reduced(info, elements, product(info.target == Target::areas ? Array() : kept, how.weight), how.reduction);
}

}  // namespace halfstep::losses
