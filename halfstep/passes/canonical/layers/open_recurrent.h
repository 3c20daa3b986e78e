// Decomposes recurrent layers into scans.
#pragma once

#include <set>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Each f32 lstm, gru and rnn with stored weights becomes a scan for each direction, whose region computes one step
/// from products, sums and activation functions. A layer stays unchanged if it has lengths of its sequences, peepholes,
/// coupled gates or a clip, or an activation function that no table replaces. Layers in `kept` stay too. Names of the
/// parts begin with the layer's.
void open_recurrent(Model& model, const std::set<std::string>& kept = {});

/// Returns why a recurrent layer stays, or "". Also "" for other operators.
std::string recurrent_obstacle(Op op);

}  // namespace halfstep::passes
