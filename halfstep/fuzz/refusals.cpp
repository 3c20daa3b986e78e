// Refusals that random networks meet for a reason. A new one is a finding until it stands here.
#include <algorithm>

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
    "which broadcast, expected as many elements",
    // Networks that are wrong; where onnxruntime is there and runs one of these, that is a finding.
    "is false:",
    " dims: ",
    // Depends on values that only a run has.
    "depends on",
    "has open extents",
    "is open",
    " is not in 0..",
    // Networks that cannot be quantized, or not on this platform.
    "found no operator with weights that can have codes",
    "the network is quantized already",
    "found nothing but",
    "calibration saw no number in",
    "elements that are NaN or infinite",
    "numel(x) >= 1 is false",
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
    // Networks that take one number of samples alone, though they do not say so.
    " is not in -",
    "elements do not fill",
    "concat dims",
    "do not broadcast",
};

}  // namespace

bool is_explained(const std::string& refusal) {
  return std::ranges::any_of(kExplained,
                             [&](std::string_view words) { return refusal.find(words) != std::string::npos; });
}

}  // namespace halfstep::fuzz
