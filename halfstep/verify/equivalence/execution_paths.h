// Compares two programs of the same network code for code.
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
#include "halfstep/verify/equivalence/output_parts.h"
#include "halfstep/verify/equivalence/same_floats.h"
#include "halfstep/verify/equivalence/semantics.h"
#include "halfstep/verify/equivalence/whole_network.h"

namespace halfstep::verify {

/// A layer whose codes both programs have under the same name. For an operator that stays in float, the bits of its
/// results are compared.
struct Layer {
  std::string name, op;
  std::optional<int> weight_bits;
  int activation_bits = 8;  ///< 32 for an operator in float, 64 for positions of elements
  float scale = 1.0F;
  int32_t zero_point = 0;
  std::string weight_codes;  ///< value of the first program with the weight's codes, "" without weights
  std::string float_value;   ///< value of the prepared network whose codes the layer has
  std::string real_value;    ///< value in ExecutionPaths::unquantized, "" if that network has no such value
  std::string path = {};     ///< "while 'loop'" for a layer in a loop, "" in the network's body
};

/// The first difference between two tensors. Activations have a position in both layouts, for the shape of one sample.
struct Difference {
  /// "weight", "bias", "multiplier", "shift", "w_scale" (compared by its bits) or "activation". "count" if the numbers
  /// of executions of a layer in a branch or loop differ. `first` and `second` are then its element counts for a batch.
  std::string what;
  int64_t index = 0;   ///< flat row-major (NCHW) index in the tensor, for an activation in its sample
  int64_t nhwc = 0;    ///< activations with four axes: the flat index in NHWC order
  int64_t sample = 0;  ///< activations: the sample, or in a branch or loop the first sample of the batch
  Dims position;       ///< index on each axis
  int64_t first = 0, second = 0;
  std::string path = {};            ///< see Execution, "" in the network's body
  std::vector<int64_t> turns = {};  ///< see Execution
};

struct LayerReport {
  Layer layer;
  int64_t compared = 0, differing = 0;                ///< activation codes
  int64_t engine_compared = 0, engine_differing = 0;  ///< activation codes of the integer program and the engine
  int64_t parameters_compared = 0, parameters_differing = 0;  ///< weight, bias, multiplier and shift codes
  std::optional<Difference> parameter, activation, engine;    ///< first difference of each kind
  /// Signal-to-quantization-noise ratio in dB against the unquantized network. Infinite without differences, NaN if
  /// that network has no such value.
  double sqnr_db = 0;
  std::optional<Semantics> semantics;  ///< for layers with codes, if the semantic check ran
};

/// Differences of an engine variant that need not be equal.
struct VariantReport {
  std::string name;
  int64_t compared = 0, differing = 0;  ///< activation codes of the integer program and the variant
  int64_t largest = 0;                  ///< largest difference between two codes
  /// Layers in network order, each with the number of samples that differ first in it.
  std::vector<std::pair<std::string, int64_t>> begins = {};
};

/// Top-1 classes of the integer program and the unquantized network by sample: the index of the largest element of the
/// first output, if this is [samples, classes]. -1 if an element is NaN.
struct Answers {
  std::vector<int64_t> integer, unquantized;
};

/// Top-1 accuracy on labelled samples, from 0 to 1.
struct Accuracy {
  double integer = 0, unquantized = 0;
};

struct VerifyReport {
  std::vector<LayerReport> layers;
  std::vector<VariantReport> variants;
  int64_t samples = 0;
  double cosine = 1;                   ///< between the first outputs of the integer program and the unquantized network
  std::vector<OutputPart> parts = {};  ///< parts of all outputs, compared with the unquantized network
  Answers answers;
  std::optional<double> agreement;    ///< share of samples with the same top-1 class, if the outputs are classes
  std::optional<Accuracy> accuracy;   ///< if the samples have labels
  std::optional<FloatReport> floats;  ///< source model compared with the prepared network
  std::optional<WholeNetwork> whole;  ///< whole batch compared with the float source model, if there is one
  int64_t semantic_samples = 0;
  std::vector<std::string> notes;  ///< remarks about the samples
  std::string unchecked;           ///< reason why the semantic check was skipped, "" if it ran
  /// Whether all codes are equal and all checks passed. Variants do not count.
  bool equal() const;
  /// The layer whose engine codes differ first in execution order. Inside a loop it can be after layers that differ in
  /// later iterations only. Null if no codes differ.
  const LayerReport* first_of_engine() const;
};

/// Returns codes by layer name for a batch. Layers that it omits are not compared.
using Engine = std::function<Tensors(const Tensors& inputs)>;

/// An additional execution path that may differ.
struct Variant {
  std::string name;
  Engine engine;
};

struct ExecutionPaths {
  Model training;     ///< evaluation-mode forward of the prepared network, on codes
  Model integer;      ///< the integer program
  Model unquantized;  ///< the source model, or without one the prepared network without its quantizers
  std::vector<Layer> layers;
  Engine engine = {};  ///< external engine, compared with the integer program if set
  /// External engine for layers in branches and loops. It returns the concatenated codes of all executions of a layer.
  Engine inside = {};
  int64_t most_samples = std::numeric_limits<int64_t>::max();  ///< largest batch of the engine
  std::vector<Variant> variants = {};
  std::vector<std::string> notes = {};  ///< remarks about layers that the engine does not return
  bool whole = false;  ///< the source returns all network arguments for one sample, like a region's arguments
  /// For a region: the engine's codes of a layer for a sample of the source, with the shape of the program's codes.
  /// Nothing if the engine did not execute the layer for it.
  std::function<std::optional<Tensor>(int64_t sample, const std::string& layer, const Tensor& codes)> recorded = {};
};

/// Compares parameter codes first, then the activations of every layer on every sample. Runs `batch` samples at a time,
/// or fewer if the engine has a smaller limit.
VerifyReport compare_paths(const ExecutionPaths& paths, const BatchSource& source, int64_t samples, int64_t batch,
                           ThreadPool& pool, const ProgressCallback& progress = {});

/// Flips the top bit of one weight code of an integer program. `place` is LAYER:INDEX. Throws if there is no such layer
/// or element.
void inject(Model& integer, const std::string& place);

}  // namespace halfstep::verify
