// Worker processes that check networks, so that a crash or a hang is an ordinary finding.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "halfstep/fuzz/checks.h"

namespace halfstep::fuzz {

/// A task for a worker: to check the network of a seed, or a network in a folder (shrink.h) with the target of the
/// seed.
struct Job {
  uint64_t seed = 0;
  std::string check;              ///< run only this check ("": all that are due)
  std::filesystem::path network;  ///< folder of a saved network ("": generate from the seed)
  bool has_own_target = false;    ///< use the target saved with the network instead of the seed's
};

struct Report {
  Job job;
  std::vector<Outcome> outcomes;
  std::set<std::string> operators;
  bool plain = false, converts = false;
  bool keeps_float = false;         ///< operators may stay in float, because of dynamic dimensions besides the batch or
                                    ///< platform rules for quantizer placement
  std::set<std::string> fallbacks;  ///< operators that conversion left in float
  std::optional<Trial::Measured> quality;
  double seconds = 0;
};

struct FleetOptions {
  int processes = 1;
  double seconds_each = 600;  ///< time limit, after which a worker is terminated
  std::string platform;       ///< fixed platform ("": random ones)
  std::string interpreter;    ///< Python with onnxruntime ("": skip that check)
  std::function<verify::ExecutionPaths(const Model& prepared, const Model& integer)> paths_of;
  std::function<void(verify::ExecutionPaths& paths, const std::map<std::string, Dims>& extents)>
      add_c;  ///< empty: skip that check
  std::function<bool(const Model& prepared, const data::Samples& samples, ThreadPool& pool)> warns_of_crushed;
  std::function<std::vector<Diagnostic>(const Model& source, const Target& target)> objections_of;
};

/// The calling process must have a single thread, because the fleet forks.
class Fleet {
 public:
  explicit Fleet(FleetOptions options);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  /// Runs jobs until `next` returns none. Calls `tell` for every report, in any order. `tell` may throw.
  void run(const std::function<std::optional<Job>()>& next, const std::function<void(const Report&)>& tell);
  Report one(const Job& job);

  /// A temporary folder, initially empty, removed with the fleet.
  const std::filesystem::path& folder() const { return folder_; }

 private:
  FleetOptions options_;
  std::filesystem::path folder_;
};

}  // namespace halfstep::fuzz
