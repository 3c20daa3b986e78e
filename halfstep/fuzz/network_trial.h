// One network in all stages of Halfstep. A stage runs once, when a check first needs it.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <optional>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/cpu.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/fuzz/engine.h"
#include "halfstep/fuzz/memory_meter.h"
#include "halfstep/fuzz/networks/generate.h"
#include "halfstep/fuzz/rounded_run.h"
#include "halfstep/quant/convert/convert.h"
#include "halfstep/verify/equivalence/execution_paths.h"

namespace halfstep::fuzz {

/// Objects shared by all trials of a process.
struct Tools {
  ThreadPool pool{1};
  ThreadPool two{2}, four{4};
  Engine* engine = nullptr;  ///< null without onnxruntime
  std::filesystem::path folder;
  /// Makes the execution paths to compare. Set from outside, because the code that joins these stages is in a higher
  /// layer.
  std::function<verify::ExecutionPaths(const Model& prepared, const Model& integer)> paths_of;
  /// Adds a compiled C program as their external backend. Empty without a compiler.
  std::function<void(verify::ExecutionPaths& paths, const std::map<std::string, Dims>& extents)> add_c;
  /// Whether quantize warns of values that lie within a few steps of their scale.
  std::function<bool(const Model& prepared, const data::Samples& samples, ThreadPool& pool)> warns_of_crushed;
  /// The diagnostics of inspect for the network and the target.
  std::function<std::vector<Diagnostic>(const Model& source, const Target& target)> objections_of;
};

/// Thrown by a check that does not apply to this network, with the reason.
struct Skipped {
  std::string reason;
  std::string refusal = {};  ///< message of a refusal that other implementations share
};

/// Thrown by a check that found an error.
struct Found {
  std::string what;
};

/// A value computed once. A failure is stored and thrown again at every access.
template <class T>
class Once {
 public:
  template <class Make>
  const T& get(const Make& make) {
    if (failure_) std::rethrow_exception(failure_);
    if (!value_) {
      try {
        value_.emplace(make());
      } catch (...) {
        failure_ = std::current_exception();
        throw;
      }
    }
    return *value_;
  }

 private:
  std::optional<T> value_;
  std::exception_ptr failure_;
};

/// Outputs of all samples, computed in batches that the network takes.
struct Answered {
  std::vector<Tensors> floats, integer;
  std::vector<std::vector<Tensors>> rounded;  ///< indexed by draw: the float network with every value rounded to its
                                              ///< bit width
  std::vector<Tensors> apart;                 ///< one more draw, in which parts of concatenations have their own steps
  Grid grid;
};

class Trial {
 public:
  Trial(const Network& network, Target target, uint64_t seed, Tools& tools);

  const Network& network() const { return network_; }
  const std::string& bytes() const { return bytes_; }
  const Target& target() const { return target_; }
  Tools& tools() { return tools_; }
  uint64_t seed() const { return seed_; }
  const MemoryMeter& memory() const { return memory_; }
  /// The inputs of one run.
  const Tensors& inputs() const { return inputs_; }

  /// The network as `run` imports it, specialized by the inputs.
  const Model& bound();
  /// The network as `quantize` imports it: dynamic dimensions stay dynamic if possible, or get the extents of the
  /// samples.
  const Model& source();
  /// Whether all dynamic dimensions of the file are dynamic in `source`.
  bool stays_open();
  /// Calibrated on the samples, with the target's bit widths.
  const Model& prepared() { return calibrated().model; }
  /// Warnings of calibration about ranges that may be invalid.
  const std::vector<std::string>& warnings() { return calibrated().warnings; }
  /// Prepared from a file with the batch size `batch`, on the threads of `pool`. Other extents are unchanged.
  Model prepared_from(int64_t batch, ThreadPool& pool);
  const quant::Conversion& conversion();
  const Model& integer() { return conversion().model; }
  const verify::ExecutionPaths& paths();
  const data::Samples& samples();
  /// Outputs of the float network and of its integer program for all samples.
  const Answered& answered();

  /// Result of the quality check in dB, for the table of operators.
  struct Measured {
    double sqnr = 0, excess = 0;
  };
  void measure(Measured measured) { measured_ = measured; }
  const std::optional<Measured>& measured() const { return measured_; }

  /// Float fallbacks left by conversion, once it has run.
  const std::optional<std::vector<quant::FloatFallback>>& fallbacks() const { return fallbacks_; }

 private:
  Model import_source();
  struct Calibrated {
    Model model;
    std::vector<std::string> warnings;
  };
  Calibrated calibrate(const Model& source, ThreadPool& pool);
  const Calibrated& calibrated();

  MemoryMeter memory_;
  const Network& network_;
  Target target_;
  uint64_t seed_;
  Tools& tools_;
  std::string bytes_;
  Tensors inputs_;
  data::Dataset data_;
  std::optional<data::TrainTest> parts_;
  bool is_closed_ = false;
  Once<Model> bound_, source_;
  Once<Calibrated> calibrated_;
  Once<quant::Conversion> conversion_;
  Once<verify::ExecutionPaths> paths_;
  Once<Answered> answered_;
  std::optional<std::vector<quant::FloatFallback>> fallbacks_;
  std::optional<Measured> measured_;
};

/// Runs a Model of any stage on the inputs of one run. Inputs that are not its arguments are ignored.
struct RunOptions {
  CpuLevel level = cpu_level();
  bool reference = false;  ///< use reference kernels and no passes
};
Tensors run_model(const Model& model, const Tensors& inputs, ThreadPool& pool, const RunOptions& options = {},
                  const std::vector<std::string>& fetch = {});

}  // namespace halfstep::fuzz
