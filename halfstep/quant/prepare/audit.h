// How a network is quantized: every quantizer with its numbers and why it is there, and what stays in float.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/quant/prepare/float_islands.h"

namespace halfstep::quant {

/// What multiplies sums, or one operand of a sum, on the way to codes: of all channels the least and the most.
struct ScaledBy {
  std::string what;  ///< "sums", or the operand's name where every operand has a factor
  double least = 1.0, most = 1.0;
  bool powers_of_two = false;  ///< all of them
};

struct AuditedQuantizer {
  std::string path;  ///< "while 'loop'": what it is inside of; "" in the network's body
  bool is_weight = false;
  std::string tensor;      ///< what has codes, as the file that the network came from calls it
  std::string layer, op;   ///< the operation that gives a feature or reads a weight; empty for the network's inputs
  std::string activation;  ///< fused into it, or "none"
  std::string reason;      ///< which operation asked for codes here
  int bits = 8;
  std::string code_type;  ///< "u8", "i8", "u16", "i16", "i4"
  int64_t code_min = 0, code_max = 255;
  bool symmetric = false;               ///< the zero point is 0 whatever was observed
  bool power_of_two = false;            ///< scales are nothing else
  std::string quantizer;                ///< its kind: "fixed", "lsq"
  std::string observer;                 ///< "minmax", "mse"
  int64_t axis = -1;                    ///< -1: one scale for the tensor
  std::vector<float> scale, low, high;  ///< by channel: as applied, and the range observed; low above high: none was
  std::vector<int32_t> zero_point;
  std::vector<std::string> shares;  ///< other tensors under the same scale
  std::vector<ScaledBy> scaled_by;  ///< empty where nothing is requantized: inputs, tables, weights

  /// The reals that the codes of a channel reach from and to.
  float least(size_t channel) const { return scale[channel] * static_cast<float>(code_min - zero_point[channel]); }
  float largest(size_t channel) const { return scale[channel] * static_cast<float>(code_max - zero_point[channel]); }
  /// Whether the numbers that were seen reach less than half of the codes, as no scale is small enough.
  bool is_too_small() const;
  /// Whether every number that was seen becomes 0, though not all are.
  bool loses_all() const;
};

/// What MQBench does otherwise (insert.quirks of the platform).
struct AuditedDeviation {
  std::string tensor, what;
};

struct Audit {
  std::vector<AuditedQuantizer> quantizers;  ///< in the order of the graph
  /// Operations that stay in float because they have no codes, and those with weights that a quantizer misses.
  std::vector<FloatIsland> in_float;
  std::vector<AuditedDeviation> deviations;
};

/// What the quantizers and the values of a prepared network say of one of its tensors.
struct TensorStory {
  std::string tensor;                               ///< as the network's file calls it, or as it was asked for
  std::vector<const AuditedQuantizer*> quantizers;  ///< of it: a weight that several operations read has several
  const FloatIsland* in_float = nullptr;            ///< the operation that gives it computes in float
  std::string has_codes_of;                         ///< a value whose codes it has, in other places; or ""
  std::vector<std::string> goes_to;                 ///< operations that read it, as "conv2d 'c'"
};

/// `name`: a tensor or layer, by our name or its file's. Throws for one that is not there, with names that are near.
TensorStory story_of(const Model& prepared, const Audit& audit, const std::string& name);

/// Of a prepared network; in any other every operation with weights is in float.
Audit audit(const Model& model);

}  // namespace halfstep::quant
