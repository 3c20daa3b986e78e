// Shape functions shared by operators, or too complex for a list of extents. The records call them in `dims:`.
//
// Each function throws an Error with operator and place if the operands do not match. An unknown extent matches any
// extent.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "halfstep/core/ir/op_info.h"

namespace halfstep::shapes {

/// Returns the dims of x.
Dims same(const OpSite& site, const Dims& x);

/// NumPy's broadcasting: trailing extents are aligned, and an extent of 1 repeats.
Dims broadcast(const OpSite& site, const Dims& a, const Dims& b);

/// Matrix product over the last two axes, with either operand transposed on request. The leading axes must agree.
Dims matmul(const OpSite& site, const Dims& a, const Dims& b, bool transpose_a, bool transpose_b);

/// matmul of [batch, heads, ., .]. Operands and results with `by_rows` are [batch, ., heads, .].
Dims heads_matmul(const OpSite& site, const Dims& a, const Dims& b, bool transpose_b, bool a_by_rows, bool b_by_rows,
                  bool out_by_rows);

/// Removes `axes`, or sets their extents to 1. Negative axes count from the end, and none may occur twice. An empty
/// list means all axes.
Dims reduce(const OpSite& site, const Dims& x, const std::vector<int64_t>& axes, bool keep_dims);

/// Returns `wanted`, where 0 keeps the extent of x at that axis and a single -1 is computed.
Dims reshape(const OpSite& site, const Dims& x, const std::vector<int64_t>& wanted);

/// Returns `wanted` like reshape, with the extent of axis `axis` of `like` at position `at`.
Dims reshape_by(const OpSite& site, const Dims& x, const Dims& like, const std::vector<int64_t>& wanted, int64_t at,
                int64_t axis);

/// Two axes: the product of the extents before `axis`, and the product of the rest.
Dims flatten(const OpSite& site, const Dims& x, int64_t axis);

/// Axis i of the result is axis perm[i] of x.
Dims permute(const OpSite& site, const Dims& x, const std::vector<int64_t>& perm);
/// Inverse of permute: axis perm[i] of the result is axis i of x.
Dims permute_back(const OpSite& site, const Dims& x, const std::vector<int64_t>& perm);

/// Concatenation along `axis` (negative from the end). All other extents must agree.
Dims concat(const OpSite& site, std::span<const Type* const> x, int64_t axis);
/// Returns the dims of x[index].
Dims element(const OpSite& site, std::span<const Type* const> x, int64_t index);

/// Returns the dims of x and checks `scale`. Valid scales: one element (the rest is not checked); one per element of
/// `axis` (negative from the end); with block_size > 0 the shape of x, with one per block_size elements along `axis`.
Dims scaled(const OpSite& site, const Dims& x, const Dims& scale, int64_t axis, int64_t block_size);

/// numpy.matmul: a 1-d operand is a row as `a` and a column as `b`, and its added axis is dropped. Axes before the last
/// two broadcast.
Dims broadcast_matmul(const OpSite& site, const Dims& a, const Dims& b);

/// Cross-correlation of x[n, c, ...] with w[o, i, ...] over all axes from 2 on. Empty lists: stride 1, dilation 1, no
/// padding; `pad` holds all begins, then all ends. auto_pad: notset, valid, same_upper or same_lower.
Dims convolution(const OpSite& site, const Dims& x, const Dims& w, const std::vector<int64_t>& stride,
                 const std::vector<int64_t>& dilation, const std::vector<int64_t>& pad, const std::string& auto_pad);

/// Concatenation of every third value. The values between are its scale (f32) and zero point, one element each. All
/// codes have the dtype of y_zero_point, which is operand 1.
Dims concat_quantized(const OpSite& site, std::span<const Type* const> x, int64_t axis);

/// x[n, c, ...] or, with channels_last, x[n, ..., c], with extents of 1 for the spatial axes.
Dims global_pool(const OpSite& site, const Dims& x, bool channels_last);

/// Returns the dims of x. With one of `scales`: a scale per channel of `axis`. With two: one per channel of
/// `second_axis`, then a single scale. `bits` has one number from 1 to 16 for each scale.
Dims scaled_by_channel(const OpSite& site, const Dims& x, std::span<const Type* const> scales,
                       const std::vector<int64_t>& bits, int64_t axis, int64_t second_axis);

/// Broadcast of all values, at least one.
Dims broadcast_all(const OpSite& site, std::span<const Type* const> x);
Dims broadcast_three(const OpSite& site, const Dims& a, const Dims& b, const Dims& c);
/// Returns `to`. Broadcasting x to it must leave it unchanged.
Dims broadcast_to(const OpSite& site, const Dims& x, const Dims& to);

/// Removes the axes, whose extents must be 1. An empty list means all axes of extent 1.
Dims squeeze(const OpSite& site, const Dims& x, const std::vector<int64_t>& axes);
/// Inserts extents of 1 at the positions `axes` of the result.
Dims unsqueeze(const OpSite& site, const Dims& x, const std::vector<int64_t>& axes);
/// Broadcast of x and `dims`.
Dims expand(const OpSite& site, const Dims& x, const std::vector<int64_t>& dims);
/// Each extent multiplied by its number of repeats.
Dims tile(const OpSite& site, const Dims& x, const std::vector<int64_t>& repeats);
/// From starts to ends in steps along `axes`, clamped to the extents as in ONNX. No axes: the first ones. No steps: 1.
Dims slice(const OpSite& site, const Dims& x, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends,
           const std::vector<int64_t>& axes, const std::vector<int64_t>& steps);
/// `pads` has the amounts before each of `axes` (empty: all), then the amounts after. Negative amounts crop.
Dims pad(const OpSite& site, const Dims& x, const std::vector<int64_t>& pads, const std::vector<int64_t>& axes);
/// x with the extents of indices in place of `axis`.
Dims gather(const OpSite& site, const Dims& x, const Dims& indices, int64_t axis);
/// The last axis of indices holds a position in x after the first batch_dims axes, which both share.
Dims gather_nd(const OpSite& site, const Dims& x, const Dims& indices, int64_t batch_dims);
/// Shape of the updates of a scatter_nd.
Dims scatter_nd(const OpSite& site, const Dims& x, const Dims& indices);
/// x with the given extent at `axis`.
Dims with_extent(const OpSite& site, const Dims& x, int64_t axis, int64_t extent);
/// x without `axis`, or with extent 1 there.
Dims reduce_axis(const OpSite& site, const Dims& x, int64_t axis, bool keep_dims);
/// Shape of a reduction over `axes`. An empty list means no axes with `noop`, or else all axes.
Dims reduce_some(const OpSite& site, const Dims& x, const std::vector<int64_t>& axes, bool keep_dims, bool noop);
/// x with extents of 1 from `axis` on.
Dims norm_statistics(const OpSite& site, const Dims& x, int64_t axis);
/// indices with `depth` inserted at position `axis` of the result.
Dims one_hot(const OpSite& site, const Dims& indices, int64_t depth, int64_t axis);
Dims depth_to_space(const OpSite& site, const Dims& x, int64_t block_size);
Dims space_to_depth(const OpSite& site, const Dims& x, int64_t block_size);
/// x with `extents` at `axes` (empty: all).
Dims with_extents(const OpSite& site, const Dims& x, const std::vector<int64_t>& extents,
                  const std::vector<int64_t>& axes);
/// Largest number of boxes that non_maximum_suppression can select, times 3 indices.
Dims selected_boxes(const OpSite& site, const Dims& boxes, const Dims& scores, int64_t max_output_boxes_per_class);

/// Windows over all spatial axes of x[n, c, ...]. Lists as for convolution. With ceil_mode, a last window may extend
/// past the end if it starts inside x or in the padding before it.
Dims pool(const OpSite& site, const Dims& x, const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
          const std::vector<int64_t>& dilation, const std::vector<int64_t>& pad, const std::string& auto_pad,
          bool ceil_mode);
/// Returns `dims` if given. Else the shape from which pool would make x.
Dims unpool(const OpSite& site, const Dims& x, const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
            const std::vector<int64_t>& pad, const std::vector<int64_t>& dims);
/// Transposed convolution of x[n, c, ...] with w[c, o / groups, ...]. output_shape (empty: none) overrides `pad`.
Dims convolution_transpose(const OpSite& site, const Dims& x, const Dims& w, int64_t groups,
                           const std::vector<int64_t>& stride, const std::vector<int64_t>& dilation,
                           const std::vector<int64_t>& pad, const std::vector<int64_t>& output_padding,
                           const std::vector<int64_t>& output_shape, const std::string& auto_pad);
/// Einstein summation: "ij,jk->ik", with "..." for broadcast axes.
Dims einsum(const OpSite& site, std::span<const Type* const> x, const std::string& equation);
/// x with `sizes`, or floor(extent * scales), at `axes` (empty: all). `policy` is stretch, not_larger or not_smaller.
Dims resize(const OpSite& site, const Dims& x, const std::vector<int64_t>& sizes, const std::vector<double>& scales,
            const std::vector<int64_t>& axes, const std::string& policy);
/// [length, directions, batch, hidden] for x[length, batch, input] and r[directions, ..., hidden]. With layout 1 the
/// batch comes first: x[batch, length, input] and [batch, length, directions, hidden].
Dims recurrent_sequence(const OpSite& site, const Dims& x, const Dims& r, int64_t layout);
/// [directions, batch, hidden], or [batch, directions, hidden] with layout 1.
Dims recurrent_state(const OpSite& site, const Dims& x, const Dims& r, int64_t layout);
/// q with the head size of v: [batch, heads, length, size] or [batch, length, heads * size].
Dims attention(const OpSite& site, const Dims& q, const Dims& v, int64_t heads, int64_t kv_heads);
/// [batch, heads, length, kv_length]
Dims attention_scores(const OpSite& site, const Dims& q, const Dims& k, int64_t heads);
/// [n, c] followed by the axes of grid between the first and the last.
Dims grid_sample(const OpSite& site, const Dims& x, const Dims& grid);
/// [n, ..., r] for theta[n, r, r + 1] and a result of `dims` [n, c, ...].
Dims affine_grid(const OpSite& site, const Dims& theta, const std::vector<int64_t>& dims);
/// [n, c] followed by `image`, for x[n, c * elements of a block, blocks].
Dims col2im(const OpSite& site, const Dims& x, const std::vector<int64_t>& image, const std::vector<int64_t>& block);
/// x without its last two axes.
Dims batch_axes(const OpSite& site, const Dims& x);
/// Shape of target, or no axes if the losses are reduced to a scalar.
Dims reduced_loss(const OpSite& site, const Dims& target, const std::string& reduction);

}  // namespace halfstep::shapes
