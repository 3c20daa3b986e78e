// Compares the integer program with the float source model on a whole batch. See docs/arithmetic.md, section 12.
//
// The semantic check of single layers provides each layer with the codes of the program. It cannot detect an error in
// *which* sample or element a layer reads. This check uses no information from quantization. It compares integers and
// booleans that both networks have by name, and samples in a batch with the same samples alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/verify/equivalence/batch_source.h"

namespace halfstep::verify {

/// An index, a mask or a size that differs in the integer program.
struct IndexFault {
  std::string value;  ///< name in the source model
  int64_t index = 0;  ///< flat index in the value of the whole batch
  int64_t found = 0, expected = 0;
};

/// A sample whose output depends on the other samples of the batch, but not in the float source model.
struct MovedSample {
  std::string output;
  int64_t sample = 0;
  double difference = 0;  ///< distance between the outputs in the batch and alone, relative to the length of the latter
};

struct WholeNetwork {
  int64_t batch = 0;  ///< samples that run together, and each alone
  int64_t integers = 0, differing = 0;
  std::optional<IndexFault> index;    ///< first fault
  int64_t moved = 0;                  ///< number of moved samples
  std::optional<MovedSample> sample;  ///< first moved sample
  bool holds() const { return differing == 0 && moved == 0; }
};

/// Compares on the first `batch` samples. Integers and booleans that do not depend on float inputs or stored matrices
/// must be equal. All of them that the two networks have under one name are compared. A sample has moved if two
/// conditions hold. An output of the integer program in the batch differs from that of the sample alone by more than
/// kMostMoved of its length. The float source model has the same output for both.
WholeNetwork check_whole_network(const Model& source, const Model& integer, const BatchSource& samples, int64_t batch,
                                 ThreadPool& pool);

}  // namespace halfstep::verify
