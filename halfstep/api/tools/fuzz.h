// Fuzzing: random networks through all operations of the library.
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

/// A failed check, and the reduced network that reproduces it.
struct FuzzFinding {
  uint64_t seed = 0;
  std::string check, what;
  std::string target;           ///< platform and options, in command-line syntax
  std::filesystem::path files;  ///< reduced network without file extension, "" without a folder
  int64_t nodes = 0;            ///< number of nodes of the reduced network
};
/// Accuracy of integer programs that contain one operator.
struct FuzzQuality {
  int64_t graphs = 0;
  double sqnr = 0;    ///< SQNR to the float network in dB, median of all graphs
  double excess = 0;  ///< dB below the SQNR that the bit widths allow, median; negative if programs are better
  double most = 0;    ///< largest excess of all graphs, in dB
};
/// Statistics and findings of a fuzzing run.
struct FuzzReport {
  int64_t graphs = 0, plain = 0;
  /// Graphs with known extents except the batch, on platforms with quantizers wherever an integer form exists.
  int64_t closed = 0, closed_without_fallbacks = 0;
  int64_t converted = 0, without_fallbacks = 0;  ///< graphs with an integer program; graphs without float fallbacks
  std::map<std::string, int64_t> operators;      ///< graphs by importable operator
  std::map<std::string, int64_t> on_codes;       ///< graphs by operator, for operators that platforms have on codes
  std::map<std::string, std::map<std::string, int64_t>>
      outcomes;                                ///< numbers of graphs by check, and by fine, refused, skipped or found
  std::map<std::string, int64_t> fallbacks;    ///< graphs by Halfstep operator that stayed in float
  std::map<std::string, int64_t> refusals;     ///< counts by message, without names and numbers
  std::map<std::string, int64_t> skips;        ///< counts by reason
  std::map<std::string, FuzzQuality> quality;  ///< results by operator; "all" for all graphs
  std::vector<FuzzFinding> findings;
  double seconds = 0;
};
/// Generates a random network for each seed and runs every check on it, in `Settings::threads` separate processes. A
/// seed produces the same network on every machine. Call it before this process starts threads, because it forks.
FuzzReport run_fuzz(const FuzzRequest& request, const Settings& settings = {});

}  // namespace halfstep::api
