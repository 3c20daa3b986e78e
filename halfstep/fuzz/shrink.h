// Reduces failing networks, and saves networks in folders.
#pragma once

#include <filesystem>
#include <functional>

#include "halfstep/fuzz/networks/random_network.h"

namespace halfstep::fuzz {

/// Writes NAME.onnx, NAME.npz with the samples, and NAME.json with the other properties.
void save_network(const Network& network, const std::filesystem::path& stem);
Network load_network(const std::filesystem::path& stem);

/// Reduces a network while `fails` stays true. It removes outputs, nodes, attributes and samples one after the other.
/// The value of a removed node becomes an input, or is replaced by an operand of the node. Calls `fails` at most
/// `tries` times.
Network shrink(Network network, const std::function<bool(const Network&)>& fails, int tries = 300);

}  // namespace halfstep::fuzz
