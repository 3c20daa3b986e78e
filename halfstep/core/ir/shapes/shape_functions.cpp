#include "halfstep/core/ir/shapes/shape_functions.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/ir/shapes/shape_detail.h"

namespace halfstep::shapes {
namespace {

void check_permutation(const OpSite& site, const Dims& x, const std::vector<int64_t>& perm) {
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool good = perm.size() == x.size();
  for (size_t i = 0; good && i < sorted.size(); ++i) good = sorted[i] == static_cast<int64_t>(i);
  if (!good) reject(site, errors::permutation_wrong, to_string(perm), x.size());
}

/// Replaces 0 in `dims` by the extent of x. Returns the position of -1, or the size of `dims` if there is none.
size_t keep_extents(const OpSite& site, const Dims& x, Dims& dims) {
  size_t left = dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < -1)
      reject(site, errors::reshape_dims, fmt::format("{} for dim {}", dims[i], i), "an extent, 0 or -1");
    if (dims[i] == -1) {
      if (left != dims.size()) reject(site, errors::reshape_dims, "more than one -1", "at most one");
      left = i;
    } else if (dims[i] == 0) {
      if (i >= x.size()) reject(site, errors::axis_missing, i, x.size());
      dims[i] = x[i];
    }
  }
  return left;
}

/// Number of elements without the dynamic dimensions kept by `wanted`, which are equal before and after a reshape.
int64_t elements_but_kept(Dims dims, const std::vector<int64_t>& wanted) {
  for (size_t i = 0; i < std::min(dims.size(), wanted.size()); ++i) {
    if (wanted[i] == 0 && dims[i] == kUnknown) dims[i] = 1;
  }
  return product(dims);
}

/// Returns `dims` with the extent at position `left`, if any, computed from the number of elements of x.
Dims fill_extents(const OpSite& site, const Dims& x, Dims dims, size_t left, const std::vector<int64_t>& wanted) {
  const int64_t count = elements_but_kept(x, wanted);
  if (left == dims.size()) {
    if (!agrees(count, elements_but_kept(dims, wanted)))
      reject(site, errors::reshape_size, fmt::format("{} elements", count), to_string(dims));
    return dims;
  }
  dims[left] = 1;
  const int64_t others = elements_but_kept(dims, wanted);
  dims[left] = kUnknown;
  if (count == kUnknown || others == kUnknown) return dims;
  if (others == 0 || count % others != 0) reject(site, errors::reshape_size, to_string(x), to_string(dims));
  dims[left] = count / others;
  return dims;
}

}  // namespace

Dims same(const OpSite&, const Dims& x) { return x; }

Dims broadcast(const OpSite& site, const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims dims = longer;
  const size_t shift = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& extent = dims[shift + i];
    const int64_t other = shorter[i];
    if (extent != 1 && other != 1 && !agrees(extent, other))
      reject(site, errors::no_broadcast, to_string(a), to_string(b));
    if (extent == 1) {
      extent = other;
    } else if (other != 1) {
      extent = either(extent, other);
    }
  }
  return dims;
}

Dims matmul(const OpSite& site, const Dims& a, const Dims& b, bool transpose_a, bool transpose_b) {
  const size_t rank = a.size();
  if (rank < 2 || b.size() != rank)
    reject(site, errors::operand_ranks, to_string(a) + " and " + to_string(b), "as many dims, two or more");
  Dims dims = a;
  bool good = true;
  for (size_t i = 0; i + 2 < rank; ++i) {
    good = good && agrees(a[i], b[i]);
    dims[i] = either(a[i], b[i]);
  }
  const size_t row = rank - 2, column = rank - 1;
  dims[row] = transpose_a ? a[column] : a[row];
  dims[column] = transpose_b ? b[row] : b[column];
  good = good && agrees(transpose_a ? a[row] : a[column], transpose_b ? b[column] : b[row]);
  if (!good)
    reject(site, errors::no_product, to_string(a) + (transpose_a ? " (transposed)" : ""),
           to_string(b) + (transpose_b ? " (transposed)" : ""));
  return dims;
}

Dims heads_matmul(const OpSite& site, const Dims& a, const Dims& b, bool transpose_b, bool a_by_rows, bool b_by_rows,
                  bool out_by_rows) {
  const auto exchanged = [&](Dims dims, bool by_rows) {
    if (dims.size() != 4) reject(site, errors::operand_ranks, to_string(dims), "four dims");
    if (by_rows) std::swap(dims[1], dims[2]);
    return dims;
  };
  return exchanged(matmul(site, exchanged(a, a_by_rows), exchanged(b, b_by_rows), false, transpose_b), out_by_rows);
}

Dims reduce(const OpSite& site, const Dims& x, const std::vector<int64_t>& axes, bool keep_dims) {
  std::vector<bool> reduced(x.size(), axes.empty());
  for (const int64_t axis : axes) {
    const size_t at = normal_axis(site, axis, x.size());
    if (reduced[at]) reject(site, errors::axis_twice, axis);
    reduced[at] = true;
  }
  Dims dims;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!reduced[i]) {
      dims.push_back(x[i]);
    } else if (keep_dims) {
      dims.push_back(1);
    }
  }
  return dims;
}

Dims reshape(const OpSite& site, const Dims& x, const std::vector<int64_t>& wanted) {
  Dims dims = wanted;
  const size_t left = keep_extents(site, x, dims);
  return fill_extents(site, x, std::move(dims), left, wanted);
}

Dims reshape_by(const OpSite& site, const Dims& x, const Dims& like, const std::vector<int64_t>& wanted, int64_t at,
                int64_t axis) {
  const size_t place = normal_axis(site, at, wanted.size());
  Dims dims = wanted;
  dims[place] = 1;
  const size_t left = keep_extents(site, x, dims);
  dims[place] = like[normal_axis(site, axis, like.size())];
  return fill_extents(site, x, std::move(dims), left, wanted);
}

Dims flatten(const OpSite& site, const Dims& x, int64_t axis) {
  if (axis < 0 || axis > static_cast<int64_t>(x.size())) reject(site, errors::axis_missing, axis, x.size());
  const std::span<const int64_t> all = x;
  return {product(all.first(static_cast<size_t>(axis))), product(all.subspan(static_cast<size_t>(axis)))};
}

Dims permute(const OpSite& site, const Dims& x, const std::vector<int64_t>& perm) {
  check_permutation(site, x, perm);
  Dims dims(x.size());
  for (size_t i = 0; i < x.size(); ++i) dims[i] = x[static_cast<size_t>(perm[i])];
  return dims;
}

Dims permute_back(const OpSite& site, const Dims& x, const std::vector<int64_t>& perm) {
  check_permutation(site, x, perm);
  Dims dims(x.size());
  for (size_t i = 0; i < x.size(); ++i) dims[static_cast<size_t>(perm[i])] = x[i];
  return dims;
}

Dims concat(const OpSite& site, std::span<const Type* const> x, int64_t axis) {
  if (x.empty()) reject(site, errors::values_count, "no value", "one or more");
  Dims dims = x[0]->dims;
  const size_t at = normal_axis(site, axis, dims.size());
  for (const Type* type : x.subspan(1)) {
    if (type->dims.size() != dims.size())
      reject(site, errors::operand_ranks, to_string(type->dims), fmt::format("{} dims", dims.size()));
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t extent = type->dims[i];
      if (i == at) {
        dims[i] = (Dim(dims[i]) + Dim(extent)).value();
      } else if (!agrees(dims[i], extent)) {
        reject(site, errors::operands_differ, i, to_string(type->dims), extent, dims[i]);
      } else {
        dims[i] = either(dims[i], extent);
      }
    }
  }
  return dims;
}

Dims element(const OpSite& site, std::span<const Type* const> x, int64_t index) {
  if (index < 0 || index >= static_cast<int64_t>(x.size()))
    reject(site, errors::values_count, fmt::format("value {}", index), fmt::format("one of {}", x.size()));
  return x[static_cast<size_t>(index)]->dims;
}

Dims scaled(const OpSite& site, const Dims& x, const Dims& scale, int64_t axis, int64_t block_size) {
  if (scale.size() <= 1 && std::all_of(scale.begin(), scale.end(), [](int64_t e) { return e == 1; })) return x;
  const size_t at = normal_axis(site, axis, x.size());
  Dims expected = {x[at]};
  if (block_size > 0) {
    expected = x;
    expected[at] = floor_div(Dim(x[at]) + Dim(block_size) - Dim(1), Dim(block_size)).value();
  }
  if (!std::equal(scale.begin(), scale.end(), expected.begin(), expected.end(), agrees))
    reject(site, errors::scale_dims, "the scale of " + to_string(x), to_string(scale),
           fmt::format("one element or {} for axis {}{}", to_string(expected), axis,
                       block_size > 0 ? fmt::format(" in blocks of {}", block_size) : ""));
  return x;
}

Dims broadcast_matmul(const OpSite& site, const Dims& a, const Dims& b) {
  const bool row = a.size() == 1, column = b.size() == 1;
  if (a.empty() || b.empty())
    reject(site, errors::operand_ranks, to_string(a) + " and " + to_string(b), "one axis or more");
  const size_t a_batch = row ? 0 : a.size() - 2, b_batch = column ? 0 : b.size() - 2;
  if (!agrees(a.back(), b[b_batch])) reject(site, errors::no_product, to_string(a), to_string(b));
  Dims dims = broadcast(site, Dims(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(a_batch)),
                        Dims(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(b_batch)));
  if (!row) dims.push_back(a[a_batch]);
  if (!column) dims.push_back(b.back());
  return dims;
}

Dims convolution(const OpSite& site, const Dims& x, const Dims& w, const std::vector<int64_t>& stride,
                 const std::vector<int64_t>& dilation, const std::vector<int64_t>& pad, const std::string& auto_pad) {
  const size_t spatial = x.size() - 2;
  Dims dims = {x[0], w[0]};
  for (size_t i = 0; i < spatial; ++i) {
    const Dim step = stride.empty() ? 1 : stride[i];
    const Dim span = (Dim(w[i + 2]) - Dim(1)) * Dim(dilation.empty() ? 1 : dilation[i]) + Dim(1);
    const Dim padding = pad.empty() ? Dim(0) : Dim(pad[i]) + Dim(pad[spatial + i]);
    const Dim whole = Dim(x[i + 2]) + padding;
    const bool same = auto_pad.starts_with("same");
    if (w[i + 2] == 0 || (!same && (whole < span) == Truth::yes))
      reject(site, errors::kernel_too_large, i + 2, to_string(x), to_string(w));
    dims.push_back(
        (same ? floor_div(Dim(x[i + 2]) + step - Dim(1), step) : floor_div(whole - span, step) + Dim(1)).value());
  }
  return dims;
}

Dims concat_quantized(const OpSite& site, std::span<const Type* const> x, int64_t axis) {
  if (x.empty() || x.size() % 3 != 0)
    reject(site, errors::values_count, x.size(), "triples of codes, scale and zero point");
  std::vector<const Type*> codes;
  const DType dtype = site.in[1]->dtype;
  for (size_t i = 0; i < x.size(); ++i) {
    const DType expected = i % 3 == 1 ? DType::f32 : dtype;
    if (x[i]->dtype != expected)
      reject(site, errors::operand_dtype, fmt::format("value {}", i), to_string(*x[i]), name(expected));
    if (i % 3 == 0) {
      codes.push_back(x[i]);
    } else if (!agrees(product(x[i]->dims), 1)) {
      reject(site, errors::scale_dims, fmt::format("value {}", i), to_string(*x[i]), "one element");
    }
  }
  return concat(site, codes, axis);
}

Dims global_pool(const OpSite&, const Dims& x, bool channels_last) {
  Dims dims(x.size(), 1);
  dims[0] = x[0];
  const size_t channels = channels_last ? x.size() - 1 : 1;
  dims[channels] = x[channels];
  return dims;
}

Dims scaled_by_channel(const OpSite& site, const Dims& x, std::span<const Type* const> scales,
                       const std::vector<int64_t>& bits, int64_t axis, int64_t second_axis) {
  if (scales.empty() || scales.size() > 2)
    reject(site, errors::values_count, fmt::format("{} scales", scales.size()), "one or two");
  if (bits.size() != scales.size())
    reject(site, errors::attributes_unfit, fmt::format("{} numbers of bits", bits.size()),
           fmt::format("{}, one for each scale", scales.size()));
  for (const int64_t count : bits) {
    if (count < 1 || count > 16) reject(site, errors::attribute_out_of_range, "bits", count, "1 to 16");
  }
  const int64_t channel_axis = scales.size() == 2 ? second_axis : axis;
  if (channel_axis < 0 || channel_axis >= static_cast<int64_t>(x.size()))
    reject(site, errors::axis_missing, channel_axis, x.size());
  const Dims& channels = scales[0]->dims;
  if (channels.size() != 1 || !agrees(channels[0], x[static_cast<size_t>(channel_axis)]))
    reject(
        site, errors::scale_dims, "the scale", to_string(channels),
        fmt::format("one for each of the {} channels of axis {}", x[static_cast<size_t>(channel_axis)], channel_axis));
  if (scales.size() == 2 && !agrees(product(scales[1]->dims), 1))
    reject(site, errors::scale_dims, "the second scale", to_string(scales[1]->dims), "one element");
  return x;
}

}  // namespace halfstep::shapes
