// The ranges that other observers would choose.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/tune/sensitivity/networks.h"

namespace halfstep::sensitivity {

/// What an observer makes of a network.
struct Observed {
  std::string observer;           ///< as records of platforms have it
  std::vector<Rounder> rounders;  ///< in the order of the network's places
};

/// For all observers that choose ranges, and on platforms of powers of two for those that choose powers, each on its
/// own in all places. On no more than 256 of the samples.
std::vector<Observed> observed_ranges(const Model& prepared, const FloatNetwork& network, const data::Samples& samples,
                                      uint64_t seed, ThreadPool& pool, const ProgressCallback& progress);

}  // namespace halfstep::sensitivity
