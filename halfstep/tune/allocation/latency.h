// Latency of layers by bit width.
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
  /// Milliseconds by layer, bits of its weight (0 without a weight) and bits of its input. A layer cannot have bit
  /// bit_widths without an entry.
  std::map<std::tuple<std::string, int, int>, double> of_layers;
  double rest = 0;  ///< time of a run that does not depend on bit widths
  std::string source;
  bool by_storage = false;  ///< whether an entry is for all bit widths with the same storage class
  bool differ = true;       ///< whether times differ by more than measurement noise
  std::vector<std::string> notes = {};

  std::optional<double> of(const Layer& layer, const Layout& layout, int weight_bits, int read_bits) const;
};

/// Reads a csv table `layer,weights,activations,milliseconds`, with or without a header. weights is the bits of a
/// layer's weight (empty or 0 without a weight), activations the bits of its input. Throws if a layer with weights is
/// missing, or if a line does not belong to this network. The message lists all of them.
Latencies read_table(const std::filesystem::path& path, const Layout& layout);

/// Returns the prepared network with other bit widths, calibrated.
using WithBitWidths = std::function<Model(const Assignment&)>;

/// Measures integer programs on this machine, one sample at a time. The programs run in turns, and the fastest run of
/// each layer counts. Bit widths with the same storage class run the same instructions and are measured once.
Latencies measure(const Layout& layout, const WithBitWidths& with_bit_widths, const data::Samples& samples,
                  ThreadPool& pool);

/// Time of the fastest run of an integer program, in milliseconds.
double run_time(const Model& integer, const data::Samples& samples, ThreadPool& pool);

}  // namespace halfstep::allocation
