// What layers take, by widths.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/tune/allocation/width_groups.h"

namespace halfstep::allocation {

struct Latencies {
  /// Milliseconds by layer, bits of its weight (0 without) and of what it reads; what is not there, a layer cannot
  /// have.
  std::map<std::tuple<std::string, int, int>, double> of_layers;
  double rest = 0;  ///< of a run, whatever the widths
  std::string source;
  bool by_storage = false;  ///< whether widths stand for all that are stored alike
  bool differ = true;       ///< whether widths make a difference beyond what measuring errs by
  std::vector<std::string> notes = {};

  std::optional<double> of(const Layer& layer, const Layout& layout, int weight_bits, int read_bits) const;
};

/// A table `layer,weights,features,milliseconds` with a header: the bits of a layer's weight (empty or 0 without one)
/// and of what it reads. Throws, naming all, where it lacks a layer with weights or has a line that is none of this
/// network.
Latencies read_table(const std::filesystem::path& path, const Layout& layout);

/// The prepared network with other widths, calibrated.
using WithWidths = std::function<Model(const Assignment&)>;

/// Measures integer programs on this machine, one sample at a time: of each layer the fastest of runs that take turns.
/// Widths that are stored alike run the same instructions and are measured once.
Latencies measure(const Layout& layout, const WithWidths& with_widths, const data::Samples& samples, ThreadPool& pool);

/// The fastest of whole runs of an integer program, in milliseconds.
double run_time(const Model& integer, const data::Samples& samples, ThreadPool& pool);

}  // namespace halfstep::allocation
