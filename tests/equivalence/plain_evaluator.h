// A third evaluator of prepared networks: plain nested loops over the float graph, one operation at a time. It knows no
// fusion, no packing, no kernels and no compiler; only docs/arithmetic.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::test {

/// Codes of every quantizer of `prepared` for the batch `x`, by the quantizer's name; those of weights too.
std::map<std::string, std::vector<int64_t>> plain_codes(const Model& prepared, const Tensor& x);

}  // namespace halfstep::test
