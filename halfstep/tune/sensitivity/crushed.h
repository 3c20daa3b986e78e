// Tensors and channels that a quantizer leaves next to no codes, because it has one scale for them and for others that
// are far larger. docs/guides/read_audit_and_proof.md has the criterion.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/quant/prepare/audit.h"
#include "halfstep/verify/equivalence/output_parts.h"

namespace halfstep::sensitivity {

/// Values that span fewer steps have few of so many codes: less than a 32nd part of them, 2 steps at least and 8 at
/// most.
double few_steps(size_t codes);

/// Values of the float network that span few steps of their quantizer. Rounding them alone makes a part of an output
/// poor (verify::kPoorPart), and no better than rounding everything else does.
struct CrushedPart {
  std::string name;  ///< of the quantizer in the graph
  quant::AuditedQuantizer quantizer;
  std::string reader = {};            ///< the activation between whose limits the values are; "": all values
  int64_t axis = -1;                  ///< -1: all of the tensor
  std::vector<int64_t> indices = {};  ///< along the axis, ascending
  double low = 0, high = 0;           ///< of all values of the part
  double steps = 0;                   ///< that they span, or the index that spans most
  double step = 0;                    ///< of the quantizer
  verify::OutputPart output;          ///< what is poor where this part alone is rounded
};

/// "'sg': values from 0.1 to 0.9 span 0.075 steps of 10.6 under the scale that it shares with 'bxs'; rounded alone they
/// leave output 'y' at index 4 of axis 1 an SQNR of 0.0 dB".
std::string sentence_of(const CrushedPart& part);

/// Some of the samples, and what the float network gives for them: of 32, or of 8 where the network is large.
struct FloatAnswers {
  std::vector<Tensors> batches, wanted;
  bool is_large = false;  ///< that all values of 8 samples take more than half a gigabyte

  /// How near the outputs of a form of the network are to those of its float form.
  std::vector<verify::OutputPart> parts_of(const Model& form, ThreadPool& pool) const;
};

/// What quantizers leave little of.
struct Crushed {
  std::vector<CrushedPart> parts;
  std::vector<std::string> infinite;  ///< quantizers that infinite values come to, and get the ends of their ranges
  FloatAnswers answers;               ///< what it was found on
};

/// Of a prepared, calibrated network on some of the samples, in the order of the graph. Quantizers in branches and
/// loops are not looked at, nor infinities in what only masks read.
Crushed crushed_values(const Model& prepared, const data::Samples& samples, uint64_t seed, ThreadPool& pool);

}  // namespace halfstep::sensitivity
