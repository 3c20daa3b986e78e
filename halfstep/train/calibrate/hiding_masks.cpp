#include "halfstep/train/calibrate/hiding_masks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/canonical/within_reach.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/train/calibrate/errors.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/train/evaluate/teacher.h"

namespace halfstep::train {
namespace {

/// The value that `condition` compares with the masking constant. Null for any other condition.
Value compared(const Model& model, Value condition) {
  const Op op = passes::unmoved(condition).producer();
  if (!op.is<ops::LessOrEqual>() || !op.in(1).is_tensor() || op.in(0).is_tensor()) return {};
  const Tensor& limit = model.tensors.at(op.in(1).name());
  const bool is_limit = limit.dtype() == DType::f32 && limit.size() == 1 && limit.data<float>()[0] == passes::kMasking;
  return is_limit ? op.in(0) : Value();
}

/// Masks by name, with the MaskFill that uses them. A mask that is also added as a value is left out.
std::map<std::string, Op> hiding_masks(const Model& prepared) {
  std::map<std::string, Op> sums;
  std::vector<std::string> added;
  for (const auto& fill : prepared.graph.body().all<ops::MaskFill>()) {
    const Value mask = compared(prepared, fill.condition());
    if (!mask) continue;
    const auto quantizer = fill.x().producer<ops::FakeQuantize>();
    if ((quantizer ? quantizer->x() : fill.x()) == mask) added.push_back(mask.name());
    sums.emplace(mask.name(), fill);
  }
  for (const std::string& name : added) sums.erase(name);
  return sums;
}

std::optional<float> other_number(const Tensor& mask) {
  const auto numbers = mask.data<float>();
  const auto other = std::ranges::find_if(numbers, [](float one) { return one != 0 && !(one <= passes::kMasking); });
  return other == numbers.end() ? std::nullopt : std::optional(*other);
}

}  // namespace

void require_hiding_masks(const Model& prepared, const data::Samples& samples, ThreadPool& pool) {
  constexpr int64_t kSamples = 64;
  const auto sums = hiding_masks(prepared);
  if (sums.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, sum] : sums) names.push_back(name);
  BatchRunner runner(teacher_of(prepared, samples.data->name), names, pool);
  const int64_t batch = data::judged_batch(prepared, 1),
                end = data::usable(prepared, std::min(kSamples, samples.size()));
  std::map<std::string, float> found;
  for (int64_t begin = 0; begin < end; begin += batch) {
    for (const auto& [name, mask] : runner.run(samples.inputs(begin, batch))) {
      if (const auto other = other_number(mask)) found.emplace(name, *other);
    }
  }
  std::vector<Diagnostic> objections;
  for (const auto& [name, other] : found) {
    const Op sum = sums.at(name);
    objections.push_back(placed(
        errors::mask_hides_by_product(sum.where(), name, fmt::format("{}", other), fmt::format("{}", passes::kMasking)),
        sum.name(), ""));
  }
  fail_on_any(std::move(objections));
}

}  // namespace halfstep::train
