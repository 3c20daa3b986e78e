// Shape functions of operators that move elements.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/ir/shapes/shape_detail.h"

namespace halfstep::shapes {
namespace {

/// Returns, for each position in `axes`, the axis counted from the start. An empty list means the first `count` axes.
std::vector<size_t> named_axes(const OpSite& site, const std::vector<int64_t>& axes, size_t count, size_t rank) {
  std::vector<size_t> named;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = normal_axis(site, axes.empty() ? static_cast<int64_t>(i) : axes[i], rank);
    if (std::find(named.begin(), named.end(), at) != named.end()) reject(site, errors::axis_twice, at);
    named.push_back(at);
  }
  return named;
}

void check_count(const OpSite& site, const char* list, size_t found, size_t expected) {
  if (found != expected) reject(site, errors::attributes_unfit, fmt::format("{} {}", found, list), expected);
}

/// Number of elements of a slice along a known extent.
int64_t slice_extent(int64_t extent, int64_t start, int64_t end, int64_t step) {
  const auto clamped = [extent](int64_t at, int64_t lowest, int64_t highest) {
    return std::clamp(at < 0 ? std::max(at, -extent - 1) + extent : std::min(at, extent), lowest, highest);
  };
  if (step > 0) {
    const int64_t first = clamped(start, 0, extent), last = clamped(end, 0, extent);
    return last <= first ? 0 : (last - first - 1) / step + 1;
  }
  if (extent == 0) return 0;
  const int64_t first = clamped(start, 0, extent - 1), last = clamped(end, -1, extent - 1);
  return last >= first ? 0 : (first - last - 1) / (step == INT64_MIN ? INT64_MAX : -step) + 1;
}

}  // namespace

Dims broadcast_all(const OpSite& site, std::span<const Type* const> x) {
  if (x.empty()) reject(site, errors::values_count, "no value", "one or more");
  Dims dims = x[0]->dims;
  for (const Type* type : x.subspan(1)) dims = broadcast(site, dims, type->dims);
  return dims;
}

Dims broadcast_three(const OpSite& site, const Dims& a, const Dims& b, const Dims& c) {
  return broadcast(site, broadcast(site, a, b), c);
}

Dims broadcast_to(const OpSite& site, const Dims& x, const Dims& to) {
  const Dims dims = broadcast(site, x, to);
  if (!std::equal(dims.begin(), dims.end(), to.begin(), to.end(), agrees))
    reject(site, errors::no_broadcast, to_string(x), to_string(to));
  return to;
}

Dims squeeze(const OpSite& site, const Dims& x, const std::vector<int64_t>& axes) {
  Dims dims;
  std::vector<bool> gone(x.size(), false);
  for (const int64_t axis : axes) {
    const size_t at = normal_axis(site, axis, x.size());
    if (!agrees(x[at], 1)) reject(site, errors::squeezed_axis, axis, to_string(x));
    gone[at] = true;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    if (axes.empty() && x[i] == kUnknown)
      reject(site, errors::extent_needed, i, to_string(x), "a squeeze without axes");
    if (axes.empty() ? x[i] != 1 : !gone[i]) dims.push_back(x[i]);
  }
  return dims;
}

Dims unsqueeze(const OpSite& site, const Dims& x, const std::vector<int64_t>& axes) {
  const size_t rank = x.size() + axes.size();
  std::vector<bool> added(rank, false);
  for (const size_t at : named_axes(site, axes, axes.size(), rank)) added[at] = true;
  Dims dims;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) dims.push_back(added[i] ? 1 : x[next++]);
  return dims;
}

Dims expand(const OpSite& site, const Dims& x, const std::vector<int64_t>& dims) {
  for (const int64_t extent : dims) {
    if (extent < 0) reject(site, errors::attribute_out_of_range, "dims", to_string(dims), "extents of 0 or more");
  }
  return broadcast(site, x, dims);
}

Dims tile(const OpSite& site, const Dims& x, const std::vector<int64_t>& repeats) {
  check_count(site, "repeats", repeats.size(), x.size());
  Dims dims;
  for (size_t i = 0; i < x.size(); ++i) {
    if (repeats[i] < 0) reject(site, errors::attribute_out_of_range, "repeats", repeats[i], "0 or more");
    dims.push_back((Dim(x[i]) * Dim::exactly(repeats[i])).value());
  }
  return dims;
}

Dims slice(const OpSite& site, const Dims& x, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends,
           const std::vector<int64_t>& axes, const std::vector<int64_t>& steps) {
  check_count(site, "ends", ends.size(), starts.size());
  if (!axes.empty()) check_count(site, "axes", axes.size(), starts.size());
  if (!steps.empty()) check_count(site, "steps", steps.size(), starts.size());
  if (starts.size() > x.size())
    reject(site, errors::attributes_unfit, fmt::format("{} starts", starts.size()),
           fmt::format("at most {}", x.size()));
  Dims dims = x;
  const std::vector<size_t> named = named_axes(site, axes, starts.size(), x.size());
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t step = steps.empty() ? 1 : steps[i];
    if (step == 0) reject(site, errors::attribute_out_of_range, fmt::format("step {}", i), 0, "another number");
    int64_t& extent = dims[named[i]];
    if (extent != kUnknown) extent = slice_extent(extent, starts[i], ends[i], step);
  }
  return dims;
}

Dims pad(const OpSite& site, const Dims& x, const std::vector<int64_t>& pads, const std::vector<int64_t>& axes) {
  const size_t count = axes.empty() ? x.size() : axes.size();
  check_count(site, "pads", pads.size(), 2 * count);
  Dims dims = x;
  const std::vector<size_t> named = named_axes(site, axes, count, x.size());
  for (size_t i = 0; i < count; ++i) {
    int64_t& extent = dims[named[i]];
    const Dim padded = Dim(extent) + Dim::exactly(pads[i]) + Dim::exactly(pads[count + i]);
    if ((padded < Dim(0)) == Truth::yes) reject(site, errors::output_dims, "the result", named[i], padded.value());
    extent = padded.value();
  }
  return dims;
}

Dims gather(const OpSite& site, const Dims& x, const Dims& indices, int64_t axis) {
  const size_t at = normal_axis(site, axis, x.size());
  Dims dims(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(at));
  dims.insert(dims.end(), indices.begin(), indices.end());
  dims.insert(dims.end(), x.begin() + static_cast<std::ptrdiff_t>(at) + 1, x.end());
  return dims;
}

Dims gather_nd(const OpSite& site, const Dims& x, const Dims& indices, int64_t batch_dims) {
  const auto batch = static_cast<size_t>(batch_dims);
  if (batch_dims < 0 || batch >= indices.size() || batch >= x.size())
    reject(site, errors::batch_dims_differ, batch_dims, to_string(x), to_string(indices));
  const int64_t depth = indices.back();
  if (depth < 0 || static_cast<size_t>(depth) + batch > x.size())
    reject(site, errors::positions_depth, depth, to_string(x), batch);
  Dims dims(indices.begin(), indices.end() - 1);
  for (size_t i = 0; i < batch; ++i) {
    if (!agrees(x[i], indices[i])) reject(site, errors::batch_dims_differ, batch, to_string(x), to_string(indices));
    dims[i] = either(x[i], indices[i]);
  }
  dims.insert(dims.end(), x.begin() + static_cast<std::ptrdiff_t>(batch) + depth, x.end());
  return dims;
}

Dims scatter_nd(const OpSite& site, const Dims& x, const Dims& indices) {
  if (indices.empty()) reject(site, errors::operand_ranks, to_string(indices), "indices with an axis of positions");
  return gather_nd(site, x, indices, 0);
}

Dims with_extent(const OpSite& site, const Dims& x, int64_t axis, int64_t extent) {
  Dims dims = x;
  dims[normal_axis(site, axis, x.size())] = extent;
  return dims;
}

Dims with_extents(const OpSite& site, const Dims& x, const std::vector<int64_t>& extents,
                  const std::vector<int64_t>& axes) {
  check_count(site, "extents", extents.size(), axes.empty() ? x.size() : axes.size());
  Dims dims = x;
  const std::vector<size_t> named = named_axes(site, axes, extents.size(), x.size());
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] < 0)
      reject(site, errors::attribute_out_of_range, "extents", to_string(extents), "extents of 0 or more");
    dims[named[i]] = extents[i];
  }
  return dims;
}

Dims reduce_axis(const OpSite& site, const Dims& x, int64_t axis, bool keep_dims) {
  return reduce(site, x, {axis}, keep_dims);
}

Dims reduce_some(const OpSite& site, const Dims& x, const std::vector<int64_t>& axes, bool keep_dims, bool noop) {
  return axes.empty() && noop ? x : reduce(site, x, axes, keep_dims);
}

Dims norm_statistics(const OpSite& site, const Dims& x, int64_t axis) {
  Dims dims = x;
  std::fill(dims.begin() + static_cast<std::ptrdiff_t>(normal_axis(site, axis, x.size())), dims.end(), 1);
  return dims;
}

Dims one_hot(const OpSite& site, const Dims& indices, int64_t depth, int64_t axis) {
  Dims dims = indices;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(normal_axis(site, axis, indices.size() + 1)), depth);
  return dims;
}

Dims depth_to_space(const OpSite& site, const Dims& x, int64_t block_size) {
  const Dim block = block_size, area = block * block;
  if ((Dim(x[1]) % area == Dim(0)) == Truth::no) reject(site, errors::not_a_multiple, "channels", x[1], area.value());
  return {x[0], floor_div(Dim(x[1]), area).value(), (Dim(x[2]) * block).value(), (Dim(x[3]) * block).value()};
}

Dims space_to_depth(const OpSite& site, const Dims& x, int64_t block_size) {
  const Dim block = block_size;
  for (const size_t axis : {size_t{2}, size_t{3}}) {
    if ((Dim(x[axis]) % block == Dim(0)) == Truth::no)
      reject(site, errors::not_a_multiple, fmt::format("dim {} of {}", axis, to_string(x)), x[axis], block_size);
  }
  return {x[0], (Dim(x[1]) * block * block).value(), floor_div(Dim(x[2]), block).value(),
          floor_div(Dim(x[3]), block).value()};
}

Dims selected_boxes(const OpSite&, const Dims& boxes, const Dims& scores, int64_t max_output_boxes_per_class) {
  const int64_t most =
      boxes[1] == kUnknown ? kUnknown : std::min(boxes[1], std::max<int64_t>(0, max_output_boxes_per_class));
  return {(Dim(scores[0]) * Dim(scores[1]) * Dim(most)).value(), 3};
}

}  // namespace halfstep::shapes
