// Shapes that several operators share, or that no list of extents can say. The records call them in `dims:`.
//
// Each throws an Error with the operator and its place where the operands do not go together. Unknown extents go with
// anything.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "halfstep/core/ir/op_info.h"

namespace halfstep::shapes {

/// x itself.
Dims same(const OpSite& site, const Dims& x);

/// Trailing extents aligned; an extent of 1 repeats (NumPy's rule).
Dims broadcast(const OpSite& site, const Dims& a, const Dims& b);

/// Product over the last two axes, either operand transposed on request; the axes before must agree.
Dims matmul(const OpSite& site, const Dims& a, const Dims& b, bool transpose_a, bool transpose_b);

/// matmul of [batch, heads, ., .]; operands and results `by_rows` are [batch, ., heads, .].
Dims heads_matmul(const OpSite& site, const Dims& a, const Dims& b, bool transpose_b, bool a_by_rows, bool b_by_rows,
                  bool out_by_rows);

/// x without `axes` (negative from the end, none twice; an empty list means all), or with extents of 1 there.
Dims reduce(const OpSite& site, const Dims& x, const std::vector<int64_t>& axes, bool keep_dims);

/// `wanted`, where 0 keeps the extent of x at that axis and one -1 is worked out.
Dims reshape(const OpSite& site, const Dims& x, const std::vector<int64_t>& wanted);

/// The same, but that the extent at place `at` is that of axis `axis` of like.
Dims reshape_by(const OpSite& site, const Dims& x, const Dims& like, const std::vector<int64_t>& wanted, int64_t at,
                int64_t axis);

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

/// All values broadcast together; there is at least one.
Dims broadcast_all(const OpSite& site, std::span<const Type* const> x);
Dims broadcast_three(const OpSite& site, const Dims& a, const Dims& b, const Dims& c);
/// `to`, to which x must broadcast without changing it.
Dims broadcast_to(const OpSite& site, const Dims& x, const Dims& to);

/// x without the axes, whose extents are 1; an empty list means all such axes.
Dims squeeze(const OpSite& site, const Dims& x, const std::vector<int64_t>& axes);
/// x with extents of 1 put in, so that they stand at `axes` of the result.
Dims unsqueeze(const OpSite& site, const Dims& x, const std::vector<int64_t>& axes);
/// x and `dims` broadcast together.
Dims expand(const OpSite& site, const Dims& x, const std::vector<int64_t>& dims);
/// Each extent times its number of repeats.
Dims tile(const OpSite& site, const Dims& x, const std::vector<int64_t>& repeats);
/// From starts to ends in steps along `axes` (empty: the first ones; no steps: 1), clamped to the extents as ONNX has
/// it.
Dims slice(const OpSite& site, const Dims& x, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends,
           const std::vector<int64_t>& axes, const std::vector<int64_t>& steps);
/// What stands before each of `axes` (empty: all), then what stands after; negative amounts cut.
Dims pad(const OpSite& site, const Dims& x, const std::vector<int64_t>& pads, const std::vector<int64_t>& axes);
/// x with the extents of indices in place of `axis`.
Dims gather(const OpSite& site, const Dims& x, const Dims& indices, int64_t axis);
/// The last axis of indices holds a position in x after the first batch_dims axes, which both share.
Dims gather_nd(const OpSite& site, const Dims& x, const Dims& indices, int64_t batch_dims);
/// Extents of the updates of a scatter_nd.
Dims scatter_nd(const OpSite& site, const Dims& x, const Dims& indices);
/// x with extent k at `axis`.
Dims with_extent(const OpSite& site, const Dims& x, int64_t axis, int64_t extent);
/// x without `axis`, or with 1 there.
Dims reduce_axis(const OpSite& site, const Dims& x, int64_t axis, bool keep_dims);
/// reduce; with noop, an empty list of axes means none.
Dims reduce_some(const OpSite& site, const Dims& x, const std::vector<int64_t>& axes, bool keep_dims, bool noop);
/// x with extents of 1 from `axis` on.
Dims norm_statistics(const OpSite& site, const Dims& x, int64_t axis);
/// indices with `depth` put in, so that it stands at `axis` of the result.
Dims one_hot(const OpSite& site, const Dims& indices, int64_t depth, int64_t axis);
Dims depth_to_space(const OpSite& site, const Dims& x, int64_t block_size);
Dims space_to_depth(const OpSite& site, const Dims& x, int64_t block_size);
/// x with `extents` at `axes` (empty: all).
Dims with_extents(const OpSite& site, const Dims& x, const std::vector<int64_t>& extents,
                  const std::vector<int64_t>& axes);
/// Boxes of non_maximum_suppression that can be selected at most, by three.
Dims selected_boxes(const OpSite& site, const Dims& boxes, const Dims& scores, int64_t max_output_boxes_per_class);

/// Windows over all axes of x[n, c, ...] from 2 on; lists as of convolution. With ceil_mode a last window may hang over
/// the end if it starts inside x or the padding before it.
Dims pool(const OpSite& site, const Dims& x, const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
          const std::vector<int64_t>& dilation, const std::vector<int64_t>& pad, const std::string& auto_pad,
          bool ceil_mode);
/// max_unpool without a wanted shape: the extents that pool makes x of; else those wanted.
Dims unpool(const OpSite& site, const Dims& x, const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
            const std::vector<int64_t>& pad, const std::vector<int64_t>& dims);
/// Gradient-like convolution of x[n, c, ...] with w[c, o / groups, ...]; output_shape (empty: none) overrides `pad`.
Dims convolution_transpose(const OpSite& site, const Dims& x, const Dims& w, int64_t groups,
                           const std::vector<int64_t>& stride, const std::vector<int64_t>& dilation,
                           const std::vector<int64_t>& pad, const std::vector<int64_t>& output_padding,
                           const std::vector<int64_t>& output_shape, const std::string& auto_pad);
/// Einstein's sum convention: "ij,jk->ik", with "..." for broadcast axes.
Dims einsum(const OpSite& site, std::span<const Type* const> x, const std::string& equation);
/// x with `sizes` or floor(extent * scales) at `axes` (empty: all); policy stretch, not_larger or not_smaller.
Dims resize(const OpSite& site, const Dims& x, const std::vector<int64_t>& sizes, const std::vector<double>& scales,
            const std::vector<int64_t>& axes, const std::string& policy);
/// [length, directions, batch, hidden] for x[length, batch, input] and r[directions, ..., hidden]; layout 1 starts with
/// the batch: x[batch, length, input], [batch, length, directions, hidden].
Dims recurrent_sequence(const OpSite& site, const Dims& x, const Dims& r, int64_t layout);
/// [directions, batch, hidden], or [batch, directions, hidden] with layout 1.
Dims recurrent_state(const OpSite& site, const Dims& x, const Dims& r, int64_t layout);
/// q with the size of a head of v: [batch, heads, length, size] or [batch, length, heads * size].
Dims attention(const OpSite& site, const Dims& q, const Dims& v, int64_t heads, int64_t kv_heads);
/// [batch, heads, length, kv_length]
Dims attention_scores(const OpSite& site, const Dims& q, const Dims& k, int64_t heads);
/// [n, c] and the axes of grid between the first and the last.
Dims grid_sample(const OpSite& site, const Dims& x, const Dims& grid);
/// [n, ..., r] for theta[n, r, r + 1] and a result of `dims` [n, c, ...].
Dims affine_grid(const OpSite& site, const Dims& theta, const std::vector<int64_t>& dims);
/// [n, c] and `image` for x[n, c * elements of a block, blocks].
Dims col2im(const OpSite& site, const Dims& x, const std::vector<int64_t>& image, const std::vector<int64_t>& block);
/// x without its last two axes.
Dims batch_axes(const OpSite& site, const Dims& x);
/// Those of target, or none when the losses are reduced to one.
Dims reduced_loss(const OpSite& site, const Dims& target, const std::string& reduction);

}  // namespace halfstep::shapes
