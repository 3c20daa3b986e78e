// Finds tensors and channels for which a quantizer has almost no codes, because it shares one scale with much larger
// values. docs/guides/read_audit_and_proof.md has the criterion.
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

/// The number of steps below which values have few of `codes` codes: a 32nd of the codes, at least 2 and at most 8.
double few_steps(size_t codes);

/// Values of the float network that span few steps of their quantizer. Rounding only them makes an output part poor
/// (verify::kPoorPart). This part is then no better than with everything else rounded.
struct CrushedPart {
  std::string name;  ///< name of the quantizer in the graph
  quant::AuditedQuantizer quantizer;
  std::string reader = {};            ///< activation function whose limits bound the values, "" for all values
  int64_t axis = -1;                  ///< -1: the whole tensor
  std::vector<int64_t> indices = {};  ///< along the axis, ascending
  double low = 0, high = 0;           ///< over all values of the part
  double steps = 0;                   ///< number of steps that the values span, the largest over the indices
  double step = 0;                    ///< step of the quantizer
  verify::OutputPart output;          ///< output part that is poor if only this part is rounded
};

/// For example "'sg': values from 0.1 to 0.9 span 0.075 steps of 10.6, whose scale it shares with 'bxs'; this rounding
/// alone leaves output 'y' at index 4 of axis 1 an SQNR of 0.0 dB".
std::string sentence_of(const CrushedPart& part);

/// Outputs of the float network for 32 of the samples, or 8 if the network is large.
struct FloatAnswers {
  std::vector<Tensors> batches, wanted;
  bool is_large = false;  ///< all values of 8 samples need more than half a gigabyte

  /// Compares the outputs of a form of the network with those of the float network.
  std::vector<verify::OutputPart> parts_of(const Model& form, ThreadPool& pool) const;
};

/// Crushed parts and infinite values of a network.
struct Crushed {
  std::vector<CrushedPart> parts;
  std::vector<std::string> infinite;  ///< quantizers of infinite values, which saturate at the ends of the range
  FloatAnswers answers;               ///< samples and outputs of the search
};

/// Searches a prepared, calibrated network on some of the samples. The result is in graph order. Excludes quantizers in
/// branches and loops, and infinities that only masks read.
Crushed crushed_values(const Model& prepared, const data::Samples& samples, uint64_t seed, ThreadPool& pool);

}  // namespace halfstep::sensitivity
