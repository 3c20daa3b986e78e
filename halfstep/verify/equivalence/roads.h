// The proof: two programs that claim to be the same network, compared code for code.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/verify/equivalence/batch_source.h"
#include "halfstep/verify/equivalence/meaning.h"
#include "halfstep/verify/equivalence/output_parts.h"
#include "halfstep/verify/equivalence/same_floats.h"
#include "halfstep/verify/equivalence/whole_network.h"

namespace halfstep::verify {

/// A layer whose codes both programs have under the same name; of an operator that stays in float its results, which
/// are compared by their bits.
struct Layer {
  std::string name, op;
  std::optional<int> weight_bits;
  int activation_bits = 8;  ///< 32 of an operator in float
  float scale = 1.0F;
  int32_t zero_point = 0;
  std::string weight_codes;  ///< value of the first program that holds the weight's codes; "" without weights
  std::string float_value;   ///< value of the prepared network that the codes stand for
  std::string real_value;    ///< the same in Roads::unquantized; "" where that has no such value
  std::string path = {};     ///< "while 'loop'" of a layer in a loop; "" in the network's body
};

/// Where two tensors first differ. Features have their position in both layouts (extents of one sample).
struct Difference {
  /// "weight", "bias", "multiplier", "shift", "w_scale" (by its bits), "feature"; "count" where a layer in a branch or
  /// a loop did not run as often, with the elements that it made for a batch.
  std::string what;
  int64_t index = 0;   ///< flat, in the tensor's own row-major order (NCHW); a feature's counts from the sample's start
  int64_t nhwc = 0;    ///< features of four axes: the flat index in NHWC order
  int64_t sample = 0;  ///< features: which sample; in a branch or a loop, the first one of the batch
  Dims position;       ///< index in each axis
  int64_t first = 0, second = 0;
  std::string path = {};            ///< as Execution has it; "" in the network's body
  std::vector<int64_t> turns = {};  ///< the same
};

struct LayerReport {
  Layer layer;
  int64_t compared = 0, differing = 0;                        ///< feature codes
  int64_t engine_compared = 0, engine_differing = 0;          ///< feature codes of the integer program and the engine
  int64_t parameters_compared = 0, parameters_differing = 0;  ///< weight, bias, multiplier and shift codes
  std::optional<Difference> parameter, feature, engine;       ///< the first of each
  /// Signal to quantization noise against the unquantized network: infinite where nothing differs, NaN where that has
  /// no such value.
  double sqnr_db = 0;
  std::optional<Meaning> meaning;  ///< of layers in codes, where it was checked
};

/// A road that may differ: how much, and where it begins.
struct VariantReport {
  std::string name;
  int64_t compared = 0, differing = 0;  ///< feature codes of the integer program and the variant
  int64_t largest = 0;                  ///< of the differences between two codes
  /// Layers in network order and the number of samples whose first differing layer each is.
  std::vector<std::pair<std::string, int64_t>> begins = {};
};

/// What the integer program and the unquantized network answer, by sample: the index of the largest first output where
/// that is [samples, classes], -1 where it has elements that are no numbers.
struct Answers {
  std::vector<int64_t> integer, unquantized;
};

/// Shares of labelled samples that are answered right.
struct Accuracy {
  double integer = 0, unquantized = 0;
};

struct RoadReport {
  std::vector<LayerReport> layers;
  std::vector<VariantReport> variants;
  int64_t samples = 0;
  double cosine = 1;                   ///< between the first outputs of the integer program and the unquantized network
  std::vector<OutputPart> parts = {};  ///< of all outputs, beside the unquantized network
  Answers answers;
  std::optional<double> agreement;    ///< share of samples with the same answer, where there are answers
  std::optional<Accuracy> accuracy;   ///< where the samples have labels
  std::optional<FloatReport> floats;  ///< the network that came in against the prepared one
  std::optional<WholeNetwork> whole;  ///< a whole batch against the float source model, where there is one
  int64_t meaning_samples = 0;
  std::vector<std::string> notes;  ///< what to know of the samples
  std::string unchecked;  ///< why nobody knows whether the layers are what the network says; "" where it was checked
  /// Whatever the variants are.
  bool equal() const;
  /// The layer where codes of the engine differ first, as a run goes: in a loop it may be behind others, which differ
  /// in later iterations. Null where none does.
  const LayerReport* first_of_engine() const;
};

/// The codes of layers by their names, for a batch; those that it leaves out are not compared.
using Engine = std::function<Tensors(const Tensors& inputs)>;

/// A further road of which nobody says that it is equal.
struct Variant {
  std::string name;
  Engine engine;
};

struct Roads {
  Model training;     ///< evaluation-mode forward of the prepared network, on codes
  Model integer;      ///< the integer program
  Model unquantized;  ///< the network that came in; where nobody has it, the prepared one without its quantizers
  std::vector<Layer> layers;
  Engine engine = {};  ///< a third road, of another house: compared with the integer program where it is there
  /// Of the same house, what is in branches and loops: the codes of a layer each time that it ran, one behind the
  /// other.
  Engine inside = {};
  int64_t most_samples = std::numeric_limits<int64_t>::max();  ///< that the engine takes in one batch
  std::vector<Variant> variants = {};
  std::vector<std::string> notes = {};  ///< what the engine does not show
  bool whole = false;  ///< what the source gives for one sample is all that the network takes, as a region's arguments
  /// Of a region: the engine's codes of a layer for a sample of the source, with the extents of the program's; none
  /// where it did not run for it.
  std::function<std::optional<Tensor>(int64_t sample, const std::string& layer, const Tensor& codes)> recorded = {};
};

/// Compares parameter codes first, then every layer's features on every sample, `batch` at a time
/// or as many as the engine takes.
RoadReport compare_roads(const Roads& roads, const BatchSource& source, int64_t samples, int64_t batch,
                         ThreadPool& pool, const ProgressCallback& progress = {});

/// Flips the top bit of one weight code of an integer program; `place` is LAYER:INDEX. Throws when there is no such
/// layer or element.
void inject(Model& integer, const std::string& place);

}  // namespace halfstep::verify
