#include "halfstep/core/ir/metadata/learned_quantizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/errors.h"

namespace halfstep {
namespace {

constexpr QuantizerTraits kKinds[] = {
    {"fixed", true, true},
    {"lsq", true, true, true},
    {"lsq_plus", true, true, true},
    {"pact", false, true},
    {"dorefa", true, false},
    {"dsq", true, true},
    {"tqt", true, true},
    {"nnie", true, true, false, "its codes are logarithms, which no operator on codes multiplies"},
    {"adaround", true, false},
    {"qdrop", false, true, true},
    {"apot", true, true, true, "its codes name sums of powers of two, which no operator on codes adds up"},
    {"own", false, false, false, "it declares no scale"},
};

}  // namespace

std::span<const QuantizerTraits> quantizer_kinds() { return kKinds; }

QuantizerKind parse_quantizer_kind(std::string_view name) {
  const auto* row = std::ranges::find_if(kKinds, [&](const QuantizerTraits& one) { return one.name == name; });
  if (row != std::end(kKinds)) return static_cast<QuantizerKind>(row - kKinds);
  std::vector<std::string> known;
  for (const QuantizerTraits& one : kKinds) known.emplace_back(one.name);
  fail(errors::unknown_name("quantizer", name, fmt::format("one of {} kinds", known.size()),
                            did_you_mean(std::string(name), known)));
}

}  // namespace halfstep
