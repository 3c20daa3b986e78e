// Bits for the layers of a network by a budget.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/evaluate/standing.h"
#include "halfstep/tune/allocation/choose.h"
#include "halfstep/tune/allocation/options.h"

namespace halfstep::allocation {

/// Some widths, what they should cost, and what they do.
struct Point {
  std::string what;  ///< "chosen", "weights 4, features 4"
  Assignment assignment;
  Costs costs;
  double harm = 0;                   ///< the sum of what each width does alone
  double loss = 0;                   ///< distance of the whole to the float network, on codes
  std::optional<double> right = {};  ///< accuracy; without labels agreement
};

struct Allocation {
  Model model;  ///< prepared, with the chosen widths, calibrated
  Layout layout;
  std::vector<Budget> budgets;
  Point before, chosen;
  double bound = 0;  ///< no legal widths within the budgets have less harm
  int64_t nodes = 0;
  Costs measured;                                ///< of the integer program
  std::vector<Point> uniform = {};               ///< all layers alike, as far as that is legal
  std::vector<Point> front = {};                 ///< along the first budget, cheapest first
  std::vector<std::map<int, double>> harm = {};  ///< by group and width
  train::Standing in_float;                      ///< accuracy, and no distance
  bool has_labels = false;
  int64_t samples = 0;
  std::string latency_source = {};  ///< "this machine, 1 thread"; "" where nobody asked
  std::vector<std::string> notes = {};
};

/// For a prepared, calibrated network: harm of every width of every group alone, costs, the widths of the least harm
/// within all budgets, and ranges calibrated anew on `samples`, of which `options.samples` also measure the harm.
/// Throws unsupported where nothing meets the budgets, naming the nearest.
Allocation allocate(const Model& prepared, const data::Samples& samples, const Options& options, uint64_t seed,
                    ThreadPool& pool, const ProgressCallback& progress = {});

}  // namespace halfstep::allocation
