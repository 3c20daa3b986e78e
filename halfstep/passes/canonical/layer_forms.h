// Rewrites layers from the forms of exporters into the operators that platforms know.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Results are the same numbers, except for the order of additions:
///   clips, also as maxima and minima with numbers -> one clip, relu6, relu or nothing (clip_forms)
///   a sum or mean of several values           -> sums of two (open_sums)
///   gemm, matmul with a weight, + a bias      -> linear: a reshape of its rows moves behind the bias, and factors of
///                                                gemm are multiplied into weight and bias, rounded once
///   a quotient by a power of two, a constant that is subtracted -> a product, a sum
///   a mean over height and width of a picture -> global_avg_pool
///   a pool of pictures of known extents whose windows explicit padding can place -> max_pool2d, avg_pool2d
///   (pool_forms)
/// Operators with other operands or attributes stay unchanged.
void layer_forms(Model& model);

}  // namespace halfstep::passes
