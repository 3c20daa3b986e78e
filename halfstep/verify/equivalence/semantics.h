// The semantic check: compares the codes of every layer of an integer program with the float operator of the source
// model. The operator is computed in float64 on the codes that the layer reads. See docs/arithmetic.md, section 12.
//
// Two execution paths can agree and both be wrong if they share the interpretation of the network. This check shares
// none. It uses neither the quantized steps nor results of conversion. It matches layers only by names, and has its own
// operators. Results of operators in float are taken from the program. If rewriting created a layer's value or inputs,
// the layer is compared with the operator of the prepared network without quantizers. same_floats compares that network
// with the source model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/verify/equivalence/batch_source.h"

namespace halfstep::verify {

/// A code that is out of tolerance.
struct SemanticFault {
  std::string what;                 ///< "weight" or "activation"
  int64_t index = 0;                ///< flat row-major (NCHW) index in the tensor, for an activation in its sample
  int64_t nhwc = -1;                ///< activations with four axes: the flat index in NHWC order
  int64_t sample = 0;               ///< activations: the sample, or in a branch or loop the first sample of the batch
  Dims position;                    ///< index on each axis
  int64_t found = 0, expected = 0;  ///< codes of the integer program and of the operator
  double real = 0;                  ///< result of the operator, or the weight
  std::string says;                 ///< the reference operator with its attributes
  std::string path = {};            ///< see Execution, "" in the network's body
};

/// Results of the semantic check of one layer.
struct Semantics {
  int64_t compared = 0;
  int64_t near_ties = 0;               ///< differences within the bound of the requantization
  int64_t beyond = 0;                  ///< differences out of tolerance
  int64_t largest = 0;                 ///< largest difference
  std::optional<SemanticFault> first;  ///< first difference out of tolerance
};

struct LayerSemantics {
  std::string layer;
  Semantics semantics;
};

struct SemanticOptions {
  bool all = false;         ///< check every element of every sample, not only of the first one
  int64_t elements = 4096;  ///< least number of random elements of each layer and further sample
  uint64_t seed = 0;
  bool whole = false;  ///< the source returns all network arguments for one sample, like a region's arguments
};

/// Checks the weights, then the results of every layer: all elements of the first sample, and a selection of further
/// samples as in `options`. `prepared` must have a source. Throws Error if a layer has no counterpart there.
std::vector<LayerSemantics> check_semantics(const Model& prepared, const Model& integer, const BatchSource& source,
                                            int64_t samples, const SemanticOptions& options, ThreadPool& pool,
                                            const ProgressCallback& progress = {});

/// Runs check_semantics on the samples in the source of `prepared`.
std::vector<LayerSemantics> check_semantics(const Model& prepared, const Model& integer, const SemanticOptions& options,
                                            ThreadPool& pool);

}  // namespace halfstep::verify
