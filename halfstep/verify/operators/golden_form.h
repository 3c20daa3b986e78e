// Converts a golden case into a problem for our operators.
#pragma once

#include "halfstep/verify/operators/golden_file.h"
#include "halfstep/verify/operators/problem.h"

namespace halfstep::verify {

struct GoldenForm {
  Problem problem;
  std::vector<Tensor> operands;  ///< by flat position, undefined if absent
  Tensor out_grad;               ///< gradient of the first output, undefined if no gradient is stored
  struct Expected {
    int port;
    Tensor result;  ///< undefined if it must not be produced
  };
  std::vector<Expected> results;
  struct Gradient {
    size_t operand;
    Tensor result;
  };
  std::vector<Gradient> gradients;
  /// The inverse operator of a quantizer, and the dequantized values that the file stores with the codes.
  const OpInfo* inverse = nullptr;
  Tensor dequantized;
};

/// Converts a case with the `foreign` entries of the records. Throws Error (bad_input), starting with `where`, for a
/// port or attribute that the operator lacks, or an operator without a record. Does not check the record's rules.
GoldenForm form_of(const GoldenCase& golden, const std::string& where);

/// The record of the case's operator. Throws like form_of.
const OpInfo& operator_of(const GoldenCase& golden, const std::string& where);

}  // namespace halfstep::verify
