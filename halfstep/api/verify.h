// The proof: training road, integer program, engine and the network that came in, layer by layer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "halfstep/api/settings.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/verify/equivalence/roads.h"

namespace halfstep::api {

/// How a program in C is made and run.
struct CRoadOptions {
  std::string compiler = "cc -O2";    ///< a command that sources and -o are given to
  std::string runner = {};            ///< a command that the program is given to: "qemu-arm"; "": it runs by itself
  std::filesystem::path folder = {};  ///< a program that was exported with hooks, instead of a new one; may be empty
  double seconds = 1200;              ///< for the compiler, and for each batch of samples: a limit for what hangs
};

struct VerifyOptions {
  /// LAYER:INDEX of a weight code whose top bit is flipped in the integer program first; may be empty.
  std::string inject = {};
  /// A third road on the integer program as it was before: "onnxruntime", that engine; "c", a program in C; may be
  /// empty.
  std::string with = {};
  std::filesystem::path exported =
      {};                 ///< the engine runs this ONNX file, exported from the integer program; may be empty
  bool variants = false;  ///< also other forms of the file and the engine's optimizations; never a failure
  CRoadOptions c = {};
  train::PreprocessOptions preprocess = {};  ///< of raw values, over the prepared Model's own
  bool all_meaning = false;                  ///< layers against the float operators in every element of every sample
  /// Samples that run at once; without it 64, or as many as memory allows.
  std::optional<int64_t> batch = {};
};

/// Compares `prepared` and `integer` code for code on the test part of `data`, and both with the network that came in.
/// Throws for networks of other stages.
verify::RoadReport verify(const Model& prepared, const Model& integer, const Dataset& data,
                          const VerifyOptions& options, const Settings& settings);

/// The three forms that are compared. The network that came in is one of them where `prepared` has it.
verify::Roads roads_of(const Model& prepared, const Model& integer);

/// The roads on samples, layer by layer. `batch` as in VerifyOptions.
verify::RoadReport compare_on(const verify::Roads& roads, const train::Samples& samples, ThreadPool& pool,
                              const ProgressCallback& progress, std::optional<int64_t> batch = {});

/// compare_on, and all of it with the network that came in, inside of branches and loops too. `prepared` is what the
/// roads were made of.
verify::RoadReport prove(const verify::Roads& roads, const Model& prepared, const train::Samples& samples,
                         const verify::MeaningOptions& options, ThreadPool& pool, const ProgressCallback& progress,
                         std::optional<int64_t> batch = {});

}  // namespace halfstep::api
