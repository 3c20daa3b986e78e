// Random networks through everything that can be done with a network.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/api/settings.h"

namespace halfstep::api {

struct FuzzFinding {
  uint64_t seed = 0;
  std::string check, what;
  std::string target;           ///< platform and options, as the command line has them
  std::filesystem::path files;  ///< the shrunk network, without its ending; "" where there is no folder
  int64_t nodes = 0;            ///< of the shrunk network
};
/// How good integer programs with one operator are.
struct FuzzQuality {
  int64_t graphs = 0;
  double sqnr = 0;    ///< dB to the float network: the median of all graphs
  double excess = 0;  ///< dB below what the widths allow: the median, which is negative where programs are better
  double most = 0;    ///< the same of the worst graph
};
struct FuzzReport {
  int64_t graphs = 0, plain = 0;
  /// Of graphs whose extents but the batch are known, on platforms that have quantizers wherever codes have a form.
  int64_t closed = 0, closed_without_islands = 0;
  int64_t converted = 0, without_islands = 0;  ///< graphs with an integer program; those on codes alone
  std::map<std::string, int64_t> operators;    ///< graphs with each importable operator
  std::map<std::string, int64_t> on_codes;     ///< the same of those that platforms have on codes
  std::map<std::string, std::map<std::string, int64_t>> outcomes;  ///< by check: fine, refused, skipped, found
  std::map<std::string, int64_t> islands;                          ///< graphs by operators of ours that stayed in float
  std::map<std::string, int64_t> refusals;                         ///< by message, without names and numbers
  std::map<std::string, int64_t> skips;                            ///< by reason
  std::map<std::string, FuzzQuality> quality;                      ///< by operator; "all" of all graphs
  std::vector<FuzzFinding> findings;
  double seconds = 0;
};
/// Makes a random network for each seed and holds every check against it, in processes of their own
/// (`Settings::threads` of them); a seed means the same network on every machine. Call it before this process starts
/// threads: it forks.
FuzzReport run_fuzz(const FuzzRequest& request, const Settings& settings = {});

}  // namespace halfstep::api
