// A failing network made small, and networks in folders.
#pragma once

#include <filesystem>
#include <functional>

#include "halfstep/fuzz/networks/random_network.h"

namespace halfstep::fuzz {

/// NAME.onnx, NAME.npz with the samples, and what else there is to know in NAME.json.
void save_network(const Network& network, const std::filesystem::path& stem);
Network load_network(const std::filesystem::path& stem);

/// The smallest network that still fails, of those that come from leaving out outputs, nodes (a value that a node made
/// becomes an input, or is what went into the node), attributes and samples, one after the other. At most `tries` calls
/// of `fails`.
Network shrink(Network network, const std::function<bool(const Network&)>& fails, int tries = 300);

}  // namespace halfstep::fuzz
