// Decomposes recurrent layers into scans.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Each f32 lstm, gru and rnn with stored weights becomes a scan for each direction, whose region computes one step from
/// products, sums and activation functions. A layer stays unchanged if it has lengths of its sequences, peepholes,
/// coupled gates or a clip, or an activation function that no table replaces. Names of the parts begin with its own.
void open_recurrent(Model& model);

}  // namespace halfstep::passes
