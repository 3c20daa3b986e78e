// Shapes that several operators share, or that no list of extents can say. The records call them in `dims:`.
//
// Each throws Error "WHERE: OPERATOR dims: ..." where the operands do not go together. Unknown extents go with
// anything.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "halfstep/ir/op_info.h"

namespace halfstep::shapes {

/// x itself.
Dims same(const OpSite& site, const Dims& x);

/// Trailing extents aligned; an extent of 1 repeats (NumPy's rule).
Dims broadcast(const OpSite& site, const Dims& a, const Dims& b);

/// Product over the last two axes, either operand transposed on request; the axes before must agree.
Dims matmul(const OpSite& site, const Dims& a, const Dims& b, bool transpose_a, bool transpose_b);

/// x without `axes` (negative from the end, none twice; an empty list means all), or with extents of 1 there.
Dims reduce(const OpSite& site, const Dims& x, const std::vector<int64_t>& axes, bool keep_dims);

/// `wanted`, where 0 keeps the extent of x at that axis and one -1 is worked out.
Dims reshape(const OpSite& site, const Dims& x, const std::vector<int64_t>& wanted);

/// Two axes: the product of the extents before `axis`, and of the others.
Dims flatten(const OpSite& site, const Dims& x, int64_t axis);

/// Axis i is axis perm[i] of x.
Dims permute(const OpSite& site, const Dims& x, const std::vector<int64_t>& perm);
/// The inverse: axis perm[i] is axis i of x.
Dims permute_back(const OpSite& site, const Dims& x, const std::vector<int64_t>& perm);

/// Values one after the other along `axis` (negative from the end); all other extents must agree.
Dims concat(const OpSite& site, std::span<const Type* const> x, int64_t axis);
/// Dims of x[index].
Dims element(const OpSite& site, std::span<const Type* const> x, int64_t index);

/// x, which `scale` serves: one element (then the rest is not looked at), one for each element of `axis` (negative from
/// the end), or with block_size > 0 the extents of x, but one for each block_size elements along `axis`.
Dims scaled(const OpSite& site, const Dims& x, const Dims& scale, int64_t axis, int64_t block_size);

/// numpy.matmul: a list is a row as `a` and a column as `b`, and the axis that it lacks is dropped; axes before the
/// last two broadcast.
Dims broadcast_matmul(const OpSite& site, const Dims& a, const Dims& b);

/// Cross-correlation of x[n, c, ...] with w[o, i, ...] over all axes from 2 on. Empty lists: stride 1, dilation 1, no
/// padding; `pad` holds all begins, then all ends. auto_pad: notset, valid, same_upper or same_lower.
Dims convolution(const OpSite& site, const Dims& x, const Dims& w, const std::vector<int64_t>& stride,
                 const std::vector<int64_t>& dilation, const std::vector<int64_t>& pad, const std::string& auto_pad);

/// concat of every third of the values; those between are its scale (f32) and zero point, of one element each. All
/// codes have the dtype of y_zero_point, which is operand 1.
Dims concat_quantized(const OpSite& site, std::span<const Type* const> x, int64_t axis);

/// x[n, c, ...] or, with channels_last, x[n, ..., c] with extents of 1 for the axes between.
Dims global_pool(const OpSite& site, const Dims& x, bool channels_last);

/// x itself. One of `scales`: a scale for each channel of `axis`; two: for each of `second_axis`, then a single one.
/// `bits` has a number of 1 to 16 for each of them.
Dims scaled_by_channel(const OpSite& site, const Dims& x, std::span<const Type* const> scales,
                       const std::vector<int64_t>& bits, int64_t axis, int64_t second_axis);

}  // namespace halfstep::shapes
