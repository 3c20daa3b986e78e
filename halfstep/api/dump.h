// Values of a network on samples, as files in the layout of a board.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/api/settings.h"
#include "halfstep/data/pipeline/preprocess.h"
#include "halfstep/verify/board/folder.h"
#include "halfstep/verify/board/manifest.h"

namespace halfstep::api {

/// Values in memory, in the layout of the network, by entry of the manifest. The layouts in the manifest are those of
/// the options.
struct NetworkValues {
  board::Manifest manifest;
  std::vector<Tensor> contents;
};

/// Returns every value of `network`, of any stage, on the test split of `data`. Throws for patterns that match no
/// layer.
NetworkValues values_of(const Model& network, const Dataset& data, const DumpOptions& options = {},
                        const Settings& settings = {});

/// Writes the values into the folder `out.path`, atomically. The same network and samples produce the same files.
board::Manifest dump(const Model& network, const Dataset& data, const OutFile& out, const DumpOptions& options = {},
                     const Settings& settings = {});

}  // namespace halfstep::api
