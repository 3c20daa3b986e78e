// The whole network on a whole batch: the integer program against the float source model. docs/arithmetic.md,
// section 12.
//
// The check of single layers gives each layer the codes that the program has, so an error in *which* sample or element
// a layer reads is out of its sight. This check follows nothing of quantization: it compares integers and booleans that
// both networks have by name, and samples in a batch with the same samples alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/verify/equivalence/batch_source.h"

namespace halfstep::verify {

/// An index, a mask or a size that is another in the integer program.
struct IndexFault {
  std::string value;  ///< of the source model
  int64_t index = 0;  ///< flat, in the value of the whole batch
  int64_t found = 0, expected = 0;
};

/// A sample whose output depends on the other samples of the batch, which the float source model does not show.
struct MovedSample {
  std::string output;
  int64_t sample = 0;
  double difference = 0;  ///< distance between the output in the batch and alone, as a share of the latter's length
};

struct WholeNetwork {
  int64_t batch = 0;  ///< samples that were run together, and each alone
  int64_t integers = 0, differing = 0;
  std::optional<IndexFault> index;    ///< the first one
  int64_t moved = 0;                  ///< samples
  std::optional<MovedSample> sample;  ///< the first one
  bool holds() const { return differing == 0 && moved == 0; }
};

/// Compares on the first `batch` samples. Integers and booleans that depend on no float input and on no stored matrix
/// must be equal; compared are all that the two networks have under one name. A sample moves where an output of
/// the integer program in the batch is further from that of the sample alone than kMostMoved of its length, while the
/// float source model gives the same for both.
WholeNetwork check_whole_network(const Model& source, const Model& integer, const BatchSource& samples, int64_t batch,
                                 ThreadPool& pool);

}  // namespace halfstep::verify
