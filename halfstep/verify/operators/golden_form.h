// A golden case as a problem of ours.
#pragma once

#include "halfstep/verify/operators/golden_file.h"
#include "halfstep/verify/operators/problem.h"

namespace halfstep::verify {

struct GoldenForm {
  Problem problem;
  std::vector<Tensor> operands;  ///< by flat position, undefined where absent
  Tensor out_grad;               ///< of the first output; undefined where no gradient is stored
  struct Expected {
    int port;
    Tensor result;  ///< undefined: must not be produced
  };
  std::vector<Expected> results;
  struct Gradient {
    size_t operand;
    Tensor result;
  };
  std::vector<Gradient> gradients;
  /// Stored beside codes by a quantizer: what its inverse operator makes of them.
  const OpInfo* inverse = nullptr;
  Tensor dequantized;
};

/// Through the `foreign` entries of the records. A port or attribute that the operator lacks, or an operator that no
/// record knows, is an Error (bad_input) that starts with `where`; rules of the record are not checked yet.
GoldenForm form_of(const GoldenCase& golden, const std::string& where);

/// The name of the record; throws as form_of does.
const OpInfo& operator_of(const GoldenCase& golden, const std::string& where);

}  // namespace halfstep::verify
