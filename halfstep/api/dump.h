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

/// Values in memory. The layouts in the manifest are those of the options, while `contents` stay in the layout of the
/// network.
struct NetworkValues {
  board::Manifest manifest;
  std::vector<Tensor> contents;  ///< one tensor for each entry of the manifest, samples on the first axis
};

/// Returns every value of `network`, of any stage, on the test split of `data`. Throws for patterns that match no
/// layer, samples that do not match the network or fill no batch, a border outside 0 to 64, an unknown format, layout
/// or backend, and float values of codes without a scale.
NetworkValues values_of(const Model& network, const Dataset& data, const DumpOptions& options = {},
                        const Settings& settings = {});

/// Writes the values into the folder `out.path`, atomically, and returns the manifest. The same network and samples
/// produce the same files. Throws the errors of values_of. Throws before any work if `out.path` exists, unless
/// `out.overwrite` is set and it is a folder of dumps.
board::Manifest dump(const Model& network, const Dataset& data, const OutFile& out, const DumpOptions& options = {},
                     const Settings& settings = {});

}  // namespace halfstep::api
