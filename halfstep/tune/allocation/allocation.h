// Chooses the bit widths of layers within a budget.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/evaluate/history.h"
#include "halfstep/tune/allocation/choose.h"
#include "halfstep/tune/allocation/options.h"

namespace halfstep::allocation {

/// Bit widths with their predicted costs and their effect.
struct Point {
  std::string what;  ///< "chosen", "weights 4, activations 4"
  Assignment assignment;
  Costs costs;
  double sensitivity = 0;            ///< sum of the sensitivities of the single bit widths
  double loss = 0;                   ///< distance of the whole quantized network to the float network
  std::optional<double> right = {};  ///< accuracy, or agreement with the float network without labels
};

struct Allocation {
  Model model;  ///< prepared, with the chosen bit widths, calibrated
  Layout layout;
  std::vector<Budget> budgets;
  Point before, chosen;
  double bound = 0;  ///< no legal assignment within the budgets has less total sensitivity
  int64_t nodes = 0;
  Costs measured;                                       ///< costs of the integer program
  std::vector<Point> uniform = {};                      ///< uniform bit widths, as far as they are legal
  std::vector<Point> front = {};                        ///< along the first budget, cheapest first
  std::vector<std::map<int, double>> sensitivity = {};  ///< by group and bit width
  train::ValidationResult in_float;                     ///< accuracy of the float network, without a distance
  bool has_labels = false;
  int64_t samples = 0;
  std::string latency_source = {};  ///< "this machine, 1 thread", "" without latencies
  std::vector<std::string> notes = {};
};

/// Chooses bit widths for a prepared, calibrated network. Measures the sensitivity of every bit width of every group
/// alone on `options.samples` of `samples`, and the costs. Selects the assignment with the least total sensitivity
/// within all budgets, and recalibrates on `samples`. Throws unsupported if no assignment meets the budgets. The
/// message names the nearest one.
Allocation allocate(const Model& prepared, const data::Samples& samples, const Options& options, uint64_t seed,
                    ThreadPool& pool, const ProgressCallback& progress = {});

}  // namespace halfstep::allocation
