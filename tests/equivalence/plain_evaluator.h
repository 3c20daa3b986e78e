// A third evaluator of prepared networks: plain nested loops over the float graph, one operation at a time. It follows
// docs/arithmetic.md only, and uses no fusion, packing, kernels or compiler.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::test {

/// Codes of every quantizer of `prepared` for the batch `x`, weights included, by the quantizer's name.
std::map<std::string, std::vector<int64_t>> plain_codes(const Model& prepared, const Tensor& x);

}  // namespace halfstep::test
