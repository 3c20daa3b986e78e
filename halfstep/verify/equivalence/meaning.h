// What a layer means: the codes of an integer program against the float operators of the network that came in, in
// float64, on the codes that the layer was given. docs/arithmetic.md, section 12.
//
// Two roads can agree and both be wrong where they share one reading of the network. This check shares none: it reads
// neither the steps on codes nor what conversion made of them, joins layers by names alone, and has operators of its
// own. Operators in float are taken as the program gives them. A layer whose value, or what it reads, rewriting made
// anew is held to the operator of the prepared network without quantizers: same_floats holds that to the network that
// came in.
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

/// A code that is not what its layer means.
struct MeaningFault {
  std::string what;    ///< "weight" or "feature"
  int64_t index = 0;   ///< flat, in the tensor's own row-major order (NCHW); a feature's counts from the sample's start
  int64_t nhwc = -1;   ///< features of four axes: the flat index in NHWC order
  int64_t sample = 0;  ///< features: which sample; in a branch or a loop, the first one of the batch
  Dims position;       ///< index in each axis
  int64_t found = 0, expected = 0;  ///< codes of the integer program and of the operator
  double real = 0;                  ///< what the operator gives, or the weight
  std::string says;                 ///< the operator with its attributes, as the network has it
  std::string path = {};            ///< as Execution has it; "" in the network's body
};

/// Codes of one layer.
struct Meaning {
  int64_t compared = 0;
  int64_t near_ties = 0;              ///< that differ within the bound of their form of requantization
  int64_t beyond = 0;                 ///< that differ by more
  int64_t largest = 0;                ///< of the differences
  std::optional<MeaningFault> first;  ///< beyond
};

struct LayerMeaning {
  std::string layer;
  Meaning meaning;
};

struct MeaningOptions {
  bool all = false;         ///< every element of every sample, and not of the first alone
  int64_t elements = 4096;  ///< at least so many of each layer and further sample, drawn at random
  uint64_t seed = 0;
  bool whole = false;  ///< what the source gives for one sample is all that the network takes, as a region's arguments
};

/// Weights first, then what every layer gave for the samples: all elements of the first one, then what the options say.
/// `prepared` has a source. Throws Error where a layer has no counterpart there.
std::vector<LayerMeaning> check_meaning(const Model& prepared, const Model& integer, const BatchSource& source,
                                        int64_t samples, const MeaningOptions& options, ThreadPool& pool,
                                        const ProgressCallback& progress = {});

/// The same on the samples that the source of `prepared` has.
std::vector<LayerMeaning> check_meaning(const Model& prepared, const Model& integer, const MeaningOptions& options,
                                        ThreadPool& pool);

}  // namespace halfstep::verify
