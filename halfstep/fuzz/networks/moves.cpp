// Operators that move, repeat or drop elements.
#include <algorithm>
#include <cmath>

#include "halfstep/core/base/divide.h"
#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

constexpr int64_t kMost = 20000;

Known some_value(Maker& maker, int64_t least_rank = 0, int64_t most_rank = 5) {
  return maker.any({{DType::f32, DType::f32, DType::i64, DType::f16, DType::u8}, least_rank, most_rank});
}

/// Extents for a reshape: 0 copies an extent, and one -1 is inferred. A dynamic number of rows is always written as 0
/// or -1.
Dims said_dims(Maker& maker, const Known& x, Dims dims) {
  const bool open = maker.keeps_rows(x) && maker.style().dynamic_batch;
  int64_t unsaid = -1;
  const bool has_zero = std::ranges::find(dims, 0) != dims.end();
  if (!has_zero && maker.chance(0.4) && !dims.empty()) unsaid = maker.between(0, static_cast<int64_t>(dims.size()) - 1);
  const Dims whole = dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (static_cast<int64_t>(i) == unsaid) {
      dims[i] = -1;
    } else if (i < x.dims.size() && whole[i] == x.dims[i] && (maker.chance(0.3) || (open && i == 0))) {
      dims[i] = 0;
    }
  }
  maker.require(!(open && has_zero));
  return dims;
}

/// The factors of `count` in some order, as extents.
Dims split_up(Maker& maker, int64_t count, int64_t rank) {
  Dims dims(static_cast<size_t>(rank), 1);
  for (int64_t p = 2; count > 1; ++p) {
    while (count % p == 0) {
      dims[static_cast<size_t>(maker.between(0, rank - 1))] *= p;
      count /= p;
    }
  }
  return dims;
}

/// Integers for extents.
Known numbers(Dims dims) {
  Known value;
  value.dtype = DType::i64;
  return value.with(std::move(dims));
}

void make_reshape(Maker& maker, std::string_view op) {
  const Known x = some_value(maker);
  Dims dims;
  if (maker.keeps_rows(x)) {
    const int64_t rank = maker.between(1, 4);
    maker.require(x.rank() > 0 && (rank > 1 || x.size() == x.dims[0]));
    if (x.dims[0] == 0) throw Unsuited();
    dims = rank == 1 ? Dims{} : split_up(maker, x.size() / x.dims[0], rank - 1);
    dims.insert(dims.begin(), x.dims[0]);
  } else {
    maker.require(x.size() > 0);
    const int64_t rank = x.size() == 1 ? maker.between(0, 3) : maker.between(1, 4);
    if (rank > 0) dims = split_up(maker, x.size(), rank);
  }
  const Dims said = said_dims(maker, x, dims);
  if (maker.chance(0.2) && x.rank() > 0 && dims.size() > 1 && dims[0] == x.dims[0]) {
    // Exporters take the first extent from the shape of x, and let one of the others be inferred.
    const Known shape = maker.node("Shape", {x}, numbers({x.rank()}));
    const Known zero = maker.contents(Tensor(DType::i64, {1}), 0, 0);
    const Known one = maker.node("Gather", {shape, zero}, numbers({1}));
    Dims others(dims.begin() + 1, dims.end());
    if (maker.chance(0.5)) others[static_cast<size_t>(maker.between(0, static_cast<int64_t>(others.size()) - 1))] = -1;
    const Known rest = maker.ints(others);
    Known all = maker.node("Concat", {one, rest}, numbers({static_cast<int64_t>(dims.size())}), {{"axis", int64_t{0}}});
    all.rows = x.rows;  // extents do not move samples between rows
    maker.node(op, {x, all}, x.with(dims));
    return;
  }
  maker.node(op, {x, maker.ints(said)}, x.with(dims));
}

void make_flatten(Maker& maker, std::string_view op) {
  const Known x = some_value(maker, maker.style().rows ? 1 : 0, 5);
  const int64_t axis = maker.keeps_rows(x) ? 1 : maker.between(0, x.rank());
  const auto product = [&](int64_t from, int64_t to) {
    return count_elements(Dims(x.dims.begin() + from, x.dims.begin() + to));
  };
  Attributes attributes;
  if (axis != 1 || maker.chance(0.4))
    attributes["axis"] = maker.opset() >= 11 && axis < x.rank() ? maker.perhaps_negative(axis, x.rank()) : axis;
  maker.node(op, {x}, x.with(Dims{product(0, axis), product(axis, x.rank())}), attributes);
}

void make_transpose(Maker& maker, std::string_view op) {
  const Known x = some_value(maker, maker.style().rows ? 2 : 0, 5);
  Dims perm(x.dims.size());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
  const bool reversed = !maker.keeps_rows(x) && maker.chance(0.3);
  if (reversed) {
    std::ranges::reverse(perm);
  } else {
    for (int64_t i = x.rank() - 1; i > (maker.keeps_rows(x) ? 1 : 0); --i)
      std::swap(perm[static_cast<size_t>(i)], perm[static_cast<size_t>(maker.between(maker.keeps_rows(x) ? 1 : 0, i))]);
  }
  Dims dims;
  for (const int64_t from : perm) dims.push_back(x.dims[static_cast<size_t>(from)]);
  Attributes attributes;
  if (!reversed || maker.chance(0.5)) attributes["perm"] = perm;
  maker.node(op, {x}, x.with(dims), attributes);
}

/// Multiplies by several hundred, like box coordinates compared with scores.
Known enlarged(Maker& maker, const Known& x) {
  const double factor = maker.real(400, 3000);
  return maker.node("Mul", {x, maker.scalar(factor)}, x.between(factor * x.low, factor * x.high));
}

void make_concat(Maker& maker, std::string_view op) {
  Known x = some_value(maker, maker.style().rows ? 2 : 1, 5);
  if (x.dtype == DType::f32 && maker.chance(0.1)) x = enlarged(maker, x);
  const int64_t axis = maker.axis(x);
  const auto at = static_cast<size_t>(axis);
  std::vector<Known> inputs = {x};
  Dims dims = x.dims;
  double low = x.low, high = x.high;
  for (int64_t more = maker.between(maker.style().plain ? 1 : 0, 3); more > 0; --more) {
    Dims other = x.dims;
    const Want alike{{x.dtype}, x.rank(), x.rank(), [&](const Known& y) {
                       other[at] = y.dims[at];
                       return y.rows == x.rows && y.dims == other && !y.constant;
                     }};
    if (!x.rows && maker.chance(0.15)) {
      inputs.push_back(maker.weights(x.dtype, x.dims, is_float(x.dtype) ? -2 : 0, 2));
    } else {
      inputs.push_back(maker.chance(0.1) ? x : maker.any(alike));
    }
    dims[at] += inputs.back().dims[at];
    low = std::min(low, inputs.back().low), high = std::max(high, inputs.back().high);
  }
  maker.require(count_elements(dims) <= kMost);
  maker.node(op, inputs, x.with(dims).between(low, high),
             {{"axis", maker.opset() >= 11 ? maker.perhaps_negative(axis, x.rank()) : axis}});
}

void make_split(Maker& maker, std::string_view op) {
  const Known x = some_value(maker, maker.style().rows ? 2 : 1, 4);
  const int64_t axis = maker.axis(x);
  const auto at = static_cast<size_t>(axis);
  int64_t rest = x.dims[at];
  maker.require(rest >= 1);
  Dims parts;
  const bool equal = rest % 2 == 0 && maker.chance(0.4);
  if (equal) {
    parts = {rest / 2, rest / 2};
  } else {
    while (rest > 0 && parts.size() < 3) {
      parts.push_back(parts.size() == 2 ? rest
                                        : maker.between(!maker.style().plain && maker.chance(0.1) ? 0 : 1, rest));
      rest -= parts.back();
    }
  }
  std::vector<Known> results;
  for (const int64_t part : parts) {
    results.push_back(x);
    results.back().dims[at] = part;
  }
  Attributes attributes = {{"axis", maker.opset() >= 11 ? maker.perhaps_negative(axis, x.rank()) : axis}};
  std::vector<Known> inputs = {x};
  if (!equal || maker.chance(0.5)) {
    if (maker.opset() >= 13) inputs.push_back(maker.ints(parts));
    if (maker.opset() < 13) attributes["split"] = parts;
  } else if (maker.opset() >= 18) {
    attributes["num_outputs"] = static_cast<int64_t>(parts.size());
  }
  maker.nodes(op, inputs, results, attributes);
}

struct Cut {
  int64_t start, end, step, out;
};

/// Start and end of a slice in one of Python's forms: beyond the extent, or counted from the end.
Cut some_cut(Maker& maker, int64_t extent) {
  constexpr int64_t kFar = 1000;
  const bool back = maker.chance(0.4);
  const int64_t step = back ? -maker.between(1, 2) : maker.between(1, maker.chance(0.3) ? 3 : 1);
  if (back) {
    const int64_t first = maker.chance(0.3) ? 0 : maker.between(0, extent - 1), last = maker.between(-1, first);
    const int64_t out = ceil_div(first - last, -step);
    int64_t start = maker.chance(0.3) && first == extent - 1 ? kFar : first;
    if (first == 0 && maker.chance(0.7)) start = maker.one_of<int64_t>({-kFar, -extent - 1});
    const int64_t end = last < 0 ? (maker.chance(0.5) ? -kFar : -extent - 1) : last;
    return {start, end, step, out};
  }
  const int64_t first = maker.between(0, extent), last = maker.between(first, extent);
  const int64_t out = ceil_div(last - first, step);
  const int64_t start = first == 0 ? maker.one_of<int64_t>({0, -kFar, -extent}) : maker.perhaps_negative(first, extent);
  const int64_t end =
      last == extent ? maker.one_of<int64_t>({extent, kFar, INT64_MAX}) : maker.perhaps_negative(last, extent);
  return {first == extent ? extent : start, last == 0 ? 0 : end, step, out};
}

void make_slice(Maker& maker, std::string_view op) {
  const Known x = some_value(maker, maker.style().rows ? 2 : 1, 5);
  Dims starts, ends, axes, steps, dims = x.dims;
  for (int64_t axis = maker.keeps_rows(x) ? 1 : 0; axis < x.rank(); ++axis) {
    if (!axes.empty() && maker.chance(0.5)) continue;
    const auto at = static_cast<size_t>(axis);
    maker.require(x.dims[at] >= 1);
    Cut cut = some_cut(maker, x.dims[at]);
    if ((maker.style().plain && cut.out == 0) || (maker.opset() < 10 && cut.step != 1))
      cut = {0, x.dims[at], 1, x.dims[at]};
    starts.push_back(cut.start), ends.push_back(cut.end), steps.push_back(cut.step);
    axes.push_back(maker.opset() >= 10 ? maker.perhaps_negative(axis, x.rank()) : axis);
    dims[at] = cut.out;
  }
  maker.require(!axes.empty());
  if (maker.opset() < 10) {
    maker.node(op, {x}, x.with(dims), {{"starts", starts}, {"ends", ends}, {"axes", axes}});
    return;
  }
  const bool is_short = std::ranges::all_of(ends, [](int64_t end) { return end == static_cast<int32_t>(end); });
  const DType dtype = maker.chance(0.2) && is_short ? DType::i32 : DType::i64;
  const bool plain_steps = std::ranges::all_of(steps, [](int64_t s) { return s == 1; });
  std::vector<Known> inputs = {x, maker.ints(starts, dtype)};
  inputs.push_back(maker.ints(ends, dtype));
  inputs.push_back(maker.ints(axes, dtype));
  if (!plain_steps || maker.chance(0.3)) inputs.push_back(maker.ints(steps, dtype));
  maker.node(op, inputs, x.with(dims));
}

void make_pad(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, maker.style().rows ? 2 : 1, 5, [](const Known& v) { return v.size() > 0; }});
  const auto rank = x.dims.size();
  const auto mode = maker.one_of<std::string>({"constant", "constant", "constant", "reflect", "edge"});
  Dims pads(2 * rank), dims = x.dims;
  for (size_t i = maker.keeps_rows(x) ? 1 : 0; i < rank; ++i) {
    const int64_t most = mode == "reflect" ? x.dims[i] - 1 : 2,
                  least = mode == "constant" && maker.chance(0.1) && x.dims[i] > 2 ? -1 : 0;
    pads[i] = maker.chance(0.6) ? maker.between(least, std::min<int64_t>(most, 2)) : 0;
    pads[rank + i] = maker.chance(0.6) ? maker.between(least, std::min<int64_t>(most, 2)) : 0;
    dims[i] += pads[i] + pads[rank + i];
  }
  maker.require(count_elements(dims) <= kMost);
  const bool has_value = mode == "constant" && maker.chance(0.5);
  double value = has_value ? maker.one_of<double>({0, 0.5, -1.25, 0, 3}) : 0;
  if (has_value && !maker.style().simple && maker.chance(0.15)) value = -INFINITY;
  Attributes attributes;
  if (mode != "constant" || maker.chance(0.3)) attributes["mode"] = mode;
  const Known result = x.with(dims).between(std::min(x.low, value), std::max(x.high, value));
  if (maker.opset() < 11) {
    attributes["pads"] = pads;
    if (has_value) attributes["value"] = value;
    maker.node(op, {x}, result, attributes);
    return;
  }
  std::vector<Known> inputs = {x};
  inputs.push_back(maker.ints(pads));
  if (has_value) inputs.push_back(maker.scalar(value, DType::f32, {}));
  maker.node(op, inputs, result, attributes);
}

void make_squeeze(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32, DType::i64}, 1, 5, [&](const Known& v) {
                               if (!v.rows && maker.style().dynamic_batch) return false;  // any axis may be the batch
                               return std::find(v.dims.begin() + (v.rows ? 1 : 0), v.dims.end(), 1) != v.dims.end();
                             }});
  Dims axes, dims;
  const bool all = !maker.keeps_rows(x) && maker.chance(0.3);
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const int64_t d = x.dims[static_cast<size_t>(axis)];
    const bool may = d == 1 && !(axis == 0 && maker.keeps_rows(x));
    if (may && (all || axes.empty() || maker.chance(0.5))) {
      axes.push_back(maker.opset() >= 11 ? maker.perhaps_negative(axis, x.rank()) : axis);
    } else {
      dims.push_back(d);
    }
  }
  if (all) {
    maker.node(op, {x}, x.with(dims));
  } else if (maker.opset() < 13) {
    maker.node(op, {x}, x.with(dims), {{"axes", axes}});
  } else {
    maker.node(op, {x, maker.ints(axes)}, x.with(dims));
  }
}

void make_unsqueeze(Maker& maker, std::string_view op) {
  const Known x = some_value(maker, 0, 3);
  const int64_t rank = x.rank() + maker.between(1, 2);
  Dims axes, dims = x.dims;
  for (int64_t axis = maker.keeps_rows(x) ? 1 : 0; axis < rank && rank > static_cast<int64_t>(dims.size()); ++axis) {
    const bool must = rank - axis <= rank - static_cast<int64_t>(dims.size());
    if (!must && maker.chance(0.5)) continue;
    axes.push_back(axis);
    dims.insert(dims.begin() + std::min<int64_t>(axis, static_cast<int64_t>(dims.size())), 1);
  }
  maker.require(static_cast<int64_t>(dims.size()) == rank);
  if (maker.opset() >= 11) {
    for (int64_t& axis : axes) axis = maker.perhaps_negative(axis, rank);
  }
  if (maker.opset() < 13) {
    maker.node(op, {x}, x.with(dims), {{"axes", axes}});
  } else {
    maker.node(op, {x, maker.ints(axes)}, x.with(dims));
  }
}

void make_expand(Maker& maker, std::string_view op) {
  const Known x = some_value(maker, 0, 4);
  Dims said = x.dims;
  for (size_t i = maker.keeps_rows(x) ? 1 : 0; i < said.size(); ++i) {
    if (said[i] == 1 && maker.chance(0.7)) {
      said[i] = maker.between(1, 4);
    } else if (maker.chance(0.4)) {
      said[i] = 1;
    }
  }
  if (maker.keeps_rows(x)) said[0] = 1;
  if (!x.rows && maker.chance(0.3)) said.insert(said.begin(), maker.between(1, 3));
  const Dims dims = broadcast(x.dims, said);
  maker.require(count_elements(dims) <= kMost);
  maker.node(op, {x, maker.ints(said)}, x.with(dims));
}

void make_tile(Maker& maker, std::string_view op) {
  const Known x = some_value(maker, maker.style().rows ? 1 : 0, 4);
  Dims repeats, dims = x.dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    repeats.push_back(
        i == 0 && maker.keeps_rows(x) ? 1 : maker.between(maker.style().plain || maker.chance(0.9) ? 1 : 0, 3));
    dims[i] *= repeats.back();
  }
  maker.require(count_elements(dims) <= kMost);
  maker.node(op, {x, maker.ints(repeats)}, x.with(dims));
}

void make_gather(Maker& maker, std::string_view op) {
  const Known x = some_value(maker, maker.style().rows ? 2 : 1, 4);
  const int64_t axis = maker.axis(x), extent = x.dims[static_cast<size_t>(axis)];
  maker.require(extent >= 1);
  const int64_t rank = maker.between(0, x.rank() > 3 ? 1 : 2);
  Dims list = maker.some_dims(rank, 12);
  const int64_t lowest = maker.opset() >= 11 && maker.chance(0.3) ? -extent : 0;
  const Known indices = maker.weights(maker.chance(0.3) ? DType::i32 : DType::i64, list, static_cast<double>(lowest),
                                      static_cast<double>(extent - 1));
  Dims dims(x.dims.begin(), x.dims.begin() + axis);
  dims.insert(dims.end(), list.begin(), list.end());
  dims.insert(dims.end(), x.dims.begin() + axis + 1, x.dims.end());
  maker.node(op, {x, indices}, x.with(dims), {{"axis", maker.perhaps_negative(axis, x.rank())}});
}

void make_depth_space(Maker& maker, std::string_view op) {
  const bool to_space = op == "DepthToSpace";
  const int64_t block = maker.between(1, 2);
  const Known x = maker.any({{DType::f32}, 4, 4, [&](const Known& v) {
                               return to_space ? v.dims[1] % (block * block) == 0
                                               : v.dims[2] % block == 0 && v.dims[3] % block == 0;
                             }});
  const int64_t squared = block * block;
  Dims dims = to_space ? Dims{x.dims[0], x.dims[1] / squared, x.dims[2] * block, x.dims[3] * block}
                       : Dims{x.dims[0], x.dims[1] * squared, x.dims[2] / block, x.dims[3] / block};
  Attributes attributes = {{"blocksize", block}};
  if (to_space && maker.opset() >= 11 && maker.chance(0.5))
    attributes["mode"] = std::string(maker.chance(0.5) ? "CRD" : "DCR");
  maker.node(op, {x}, x.with(dims), attributes);
}

}  // namespace

Recipes move_recipes() {
  return {{"Reshape", make_reshape, Home::codes},
          {"Flatten", make_flatten, Home::codes, 9},
          {"Transpose", make_transpose, Home::codes},
          {"Concat", make_concat, Home::codes},
          {"Split", make_split, Home::codes},
          {"Slice", make_slice, Home::codes},
          {"Pad", make_pad, Home::codes},
          {"Squeeze", make_squeeze, Home::codes},
          {"Unsqueeze", make_unsqueeze, Home::codes},
          {"Expand", make_expand, Home::codes, 8},
          {"Tile", make_tile, Home::codes},
          {"Gather", make_gather, Home::floats},
          {"DepthToSpace", make_depth_space, Home::codes},
          {"SpaceToDepth", make_depth_space, Home::codes}};
}

}  // namespace halfstep::fuzz
