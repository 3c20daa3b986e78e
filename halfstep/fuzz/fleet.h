// Processes that look at networks, so that a crash or a hang is a finding like any other.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "halfstep/fuzz/checks.h"

namespace halfstep::fuzz {

/// What a process is asked: to look at the network of a seed, or at one in a folder (shrink.h) with the target of the
/// seed.
struct Job {
  uint64_t seed = 0;
  std::string check;              ///< this one alone; "" for those that are due
  std::filesystem::path network;  ///< "" for the seed's own
  bool has_own_target = false;    ///< that of the network in the folder, and not of the seed's own
};

struct Report {
  Job job;
  std::vector<Outcome> outcomes;
  std::set<std::string> operators;
  bool plain = false, converts = false;
  bool keeps_float = false;       ///< open extents beside the batch, or rules of the platform for quantizers
  std::set<std::string> islands;  ///< operators that conversion left in float
  std::optional<Trial::Measured> quality;
  double seconds = 0;
};

struct FleetOptions {
  int processes = 1;
  double seconds_each = 600;  ///< after which a process is ended
  std::string platform;       ///< instead of random ones; may be empty
  std::string interpreter;    ///< Python with onnxruntime; "" leaves that check out
  std::function<verify::Roads(const Model& prepared, const Model& integer)> roads_of;
  std::function<void(verify::Roads& roads, const std::map<std::string, Dims>& extents)>
      add_c;  ///< empty leaves that check out
  std::function<bool(const Model& prepared, const data::Samples& samples, ThreadPool& pool)> warns_of_crushed;
  std::function<std::vector<Diagnostic>(const Model& source, const Target& target)> objections_of;
};

/// This process must have one thread when it asks for anything: it forks.
class Fleet {
 public:
  explicit Fleet(FleetOptions options);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  /// Runs jobs until `next` has none, and hands every report on, in no particular order; `tell` may throw.
  void run(const std::function<std::optional<Job>()>& next, const std::function<void(const Report&)>& tell);
  Report one(const Job& job);

  /// Empty at first, and gone with the fleet.
  const std::filesystem::path& folder() const { return folder_; }

 private:
  FleetOptions options_;
  std::filesystem::path folder_;
};

}  // namespace halfstep::fuzz
