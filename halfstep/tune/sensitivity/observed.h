// Computes the ranges that other observers would choose.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/tune/sensitivity/networks.h"

namespace halfstep::sensitivity {

/// Results of one observer for a network.
struct Observed {
  std::string observer;           ///< name in platform records
  std::vector<Rounder> rounders;  ///< by place of the network
};

/// Results of all observers that choose ranges. Observers of powers of two only run on platforms with power-of-two
/// scales. Each observer runs alone in all places, on at most 256 of the samples.
std::vector<Observed> observed_ranges(const Model& prepared, const FloatNetwork& network, const data::Samples& samples,
                                      uint64_t seed, ThreadPool& pool, const ProgressCallback& progress);

}  // namespace halfstep::sensitivity
