// Refusals that random networks meet for a reason. A new one is a finding until it stands here.
#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "halfstep/core/base/objection.h"
#include "halfstep/fuzz/checks.h"

namespace halfstep::fuzz {
namespace {

/// What such a message has in it.
const std::vector<std::string_view> kExplained = {
    // Forms that Halfstep lacks; docs/formats.md: named with node, operator and what of it.
    "is not supported",
    "are not supported",
    "has no form in opset",
    "form in ONNX",
    "form in C",
    // Depends on values that only a run has.
    "depends on",
    "has open extents",
    "is open",
    // Networks that cannot be quantized, or not on this platform.
    "found no operator with weights that can have codes",
    "the network is quantized already",
    "found nothing but",
    "calibration saw no number in",
    "elements that are NaN or infinite",
    "the accumulator can reach",
    "is NaN or infinite on samples",
    "expected one to learn from",
    "found A of f32",
    "needs channels in multiples of",
    "is not a power of two from 2^",
    "expected a positive number and a finite one; calibrate",
    "features on ",
    "weights on ",
    " reads on ",
    " gives on ",
    "magik_t40 has no ",
    "so that it cannot be padded",
    "PyTorch's",
    "could overflow",
    "leaves no room for a row",
    "have no factors",
    // Export and training.
    "the operators of ONNX on codes take u8",
    "has no gradient",
    "is not reached from the loss",
    "needs a shift outside",
    "which is the name of one that training adds",
    "; lower the learning rate",
    ", expected f32",
};

/// Networks that are wrong, or take one number of samples alone and do not say so; where onnxruntime runs one of these,
/// that is a finding. The message says what was found and needs no remedy.
const std::vector<std::string_view> kWrong = {"which broadcast, expected as many elements",
                                              " dims: ",
                                              " is not in 0..",
                                              " is not in -",
                                              "elements do not fill",
                                              "concat dims",
                                              "do not broadcast"};

bool has_any(const std::string& refusal, const std::vector<std::string_view>& list) {
  return std::ranges::any_of(list, [&](std::string_view words) { return refusal.find(words) != std::string::npos; });
}

/// Whether it names a rule of an operator's record: "softmax c2: axis is 9, ...".
bool names_a_rule(const std::string& refusal) {
  static const std::regex kRule(R"([a-z_0-9]+ c[0-9]+: )");
  return std::regex_search(refusal, kRule);
}

bool is_wrong(const std::string& refusal) { return names_a_rule(refusal) || has_any(refusal, kWrong); }

}  // namespace

bool is_explained(const std::string& refusal) { return is_wrong(refusal) || has_any(refusal, kExplained); }

bool has_remedy(const Error& refusal) {
  const auto* parts = dynamic_cast<const Refusal*>(&refusal);
  const std::string_view text = refusal.what();
  if (parts == nullptr) return is_wrong(refusal.what()) || text.find("; ") != std::string_view::npos;
  return std::ranges::none_of(parts->objections(), [](const Objection& one) { return one.remedy.empty(); });
}

void check_remedies(Trial& trial) {
  for (const Objection& one : trial.tools().objections_of(trial.source(), trial.target())) {
    if (one.remedy.empty()) throw Found{fmt::format("inspect names no remedy: {}: {}", one.where, one.reason())};
  }
}

}  // namespace halfstep::fuzz
