// The values of a network on samples, as files in the layout of a board.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/settings.h"
#include "halfstep/data/pipeline/preprocess.h"
#include "halfstep/verify/board/folder.h"
#include "halfstep/verify/board/manifest.h"

namespace halfstep::api {

/// What is said of the layout, over what the platform says in `dump` (docs/platforms.md); without either NHWC.
struct LayoutOptions {
  std::optional<std::string> order = {};            ///< nchw, nhwc, ndhwc32
  std::optional<std::string> packing = {};          ///< none, low_first, high_first
  std::optional<bool> offset = {};                  ///< the top bit of codes flipped
  std::optional<std::vector<int64_t>> border = {};  ///< rows above and below, columns left and right
  bool big_endian = false;
};

struct DumpOptions {
  std::vector<std::string> layers = {};  ///< patterns of layers (`*`, `?`, op:OPERATOR); none: all
  LayoutOptions layout = {};
  std::string format = "bin";                ///< bin, npy, txt
  bool reals = false;                        ///< what codes stand for, instead of codes
  bool parameters = true;                    ///< also weights, biases, multipliers, shifts, tables
  std::string with = {};                     ///< "onnxruntime": that engine's codes of an integer program; "": ours
  train::PreprocessOptions preprocess = {};  ///< of raw values, over the Model's own
};

/// Values in memory, as the network has them; by entry of the manifest, whose layouts are what the options say.
struct DumpedValues {
  board::Manifest manifest;
  std::vector<Tensor> contents;
};

/// Every value of `network`, of any stage, on the test part of `data`. Throws for patterns that fit no layer.
DumpedValues values_of(const Model& network, const Dataset& data, const DumpOptions& options, const Settings& settings);

/// Writes them into the folder `out`: whole, or not at all. Files are the same for the same network and samples.
board::Manifest dump(const Model& network, const Dataset& data, const std::filesystem::path& out,
                     const DumpOptions& options, bool overwrite, const Settings& settings);

}  // namespace halfstep::api
