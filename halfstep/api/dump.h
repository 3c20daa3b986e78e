// The values of a network on samples, as files in the layout of a board.
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

/// Values in memory, as the network has them; by entry of the manifest, whose layouts are what the options say.
struct NetworkValues {
  board::Manifest manifest;
  std::vector<Tensor> contents;
};

/// Every value of `network`, of any stage, on the test part of `data`. Throws for patterns that fit no layer.
NetworkValues values_of(const Model& network, const Dataset& data, const DumpOptions& options = {},
                        const Settings& settings = {});

/// Writes them into the folder `out.path`: whole, or not at all. Files are the same for the same network and samples.
board::Manifest dump(const Model& network, const Dataset& data, const OutFile& out, const DumpOptions& options = {},
                     const Settings& settings = {});

}  // namespace halfstep::api
