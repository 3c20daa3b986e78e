// The quantization report: every quantizer with its parameters and its reason, and all operators that stay in float.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/quant/prepare/float_fallback.h"

namespace halfstep::quant {

/// The requantization multiplier of sums, or of one operand of a sum. `least` and `most` are its extremes over
/// channels.
struct Requantization {
  std::string what;  ///< "sums", or the operand's name if every operand has its own multiplier
  double least = 1.0, most = 1.0;
  bool powers_of_two = false;  ///< whether all multipliers are powers of two
};

struct AuditedQuantizer {
  std::string path;  ///< enclosing loops and branches, for example "while 'loop'", "" in the network's body
  bool is_weight = false;
  std::string tensor;      ///< name of the quantized value in the source file
  std::string layer, op;   ///< operation that computes an activation or reads a weight, empty for inputs of the network
  std::string activation;  ///< fused activation function, or "none"
  std::string reason;      ///< operation or rule that asked for a quantizer here
  int bits = 8;
  std::string code_type;  ///< "u8", "i8", "u16", "i16" or "i4"
  int64_t code_min = 0, code_max = 255;
  bool symmetric = false;               ///< the zero point is 0 for every range
  bool power_of_two = false;            ///< all scales are powers of two
  std::string quantizer;                ///< kind, for example "fixed" or "lsq", or the name of an own one
  std::string observer;                 ///< for example "minmax" or "mse"
  int64_t axis = -1;                    ///< -1: one scale for the tensor
  std::vector<float> scale, low, high;  ///< by channel: applied scale and observed range, low > high if nothing was
                                        ///< observed
  std::vector<int32_t> zero_point;
  std::vector<std::string> shares;             ///< other tensors in the shared scale group
  std::vector<Requantization> requantization;  ///< empty without requantization: inputs, tables, weights

  /// The representable range of a channel, as real values.
  float least(size_t channel) const { return scale[channel] * static_cast<float>(code_min - zero_point[channel]); }
  float largest(size_t channel) const { return scale[channel] * static_cast<float>(code_max - zero_point[channel]); }
  /// Whether the observed values use less than half of the codes because the smallest scale is too large for them.
  bool is_too_small() const;
  /// Whether every observed value rounds to 0, although not all observed values are 0.
  bool loses_all() const;
};

/// A deviation of MQBench from the platform's rules at a tensor (insert.quirks of the platform).
struct AuditedDeviation {
  std::string tensor, what;
};

struct Audit {
  std::vector<AuditedQuantizer> quantizers;  ///< in the order of the graph
  /// Operations without codes, and operations with weights that lack a quantizer.
  std::vector<FloatFallback> in_float;
  std::vector<AuditedDeviation> deviations;
};

/// Everything that a prepared network states about one of its tensors.
struct TensorStory {
  std::string tensor;                               ///< name in the source file, or the name in the query
  std::vector<const AuditedQuantizer*> quantizers;  ///< all quantizers of the tensor: a weight has one per reader
  const FloatFallback* in_float = nullptr;          ///< the operation that computes it, if that operation is in float
  std::string has_codes_of;                         ///< the value whose codes it contains in another order, or ""
  std::vector<std::string> goes_to;                 ///< operations that read it, for example "conv2d 'c'"
};

/// Describes the tensor or layer `name`, a name in the network or in its source file. Throws for an unknown name, with
/// similar names in the message.
TensorStory story_of(const Model& prepared, const Audit& audit, const std::string& name);

/// The report of a prepared network. In any other network every operation with weights is listed as float.
Audit audit(const Model& model);

}  // namespace halfstep::quant
