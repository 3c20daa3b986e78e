#include "halfstep/formats/open_extents.h"

#include <algorithm>

namespace halfstep::formats {
namespace {

/// a - b, or nothing where that is not known at any number of tries.
Element difference(const Element& a, const Element& b) {
  const auto left = a.tried(), right = b.tried();
  if (!left || !right) return {};
  Tried tried;
  for (size_t i = 0; i < tried.size(); ++i)
    tried[i] = (*left)[i] == kRefused || (*right)[i] == kRefused ? kRefused : (*left)[i] - (*right)[i];
  return Element(std::optional(tried));
}

[[noreturn]] void require_extents() { throw NeedsExtents("it depends on open extents of the inputs"); }

OpenAxis axis_of(const Builder& builder, const Element& extent) {
  const auto tried = extent.tried();
  const auto found = tried ? builder.trials().find(*tried, builder.block()) : std::nullopt;
  if (!found) require_extents();
  return *found;
}

/// An extent times `factor` and plus `offset`.
struct Linear {
  OpenAxis extent;
  int64_t factor, offset;
};

/// `wanted` in terms of an extent that is `tried`; nothing where it is not linear in it.
std::optional<std::pair<int64_t, int64_t>> factor_and_offset(const Tried& wanted, const Tried& tried) {
  for (size_t i = 1; i < tried.size(); ++i) {
    if (wanted[0] == kRefused || tried[0] == kRefused || wanted[i] == kRefused || tried[i] == kRefused) continue;
    const int64_t rise = wanted[i] - wanted[0], run = tried[i] - tried[0];
    if (run == 0) continue;
    if (rise % run != 0) return std::nullopt;
    const int64_t factor = rise / run, offset = wanted[0] - factor * tried[0];
    Tried linear = tried;
    for (int64_t& number : linear) number = number == kRefused ? number : factor * number + offset;
    return factor != 0 && agree(linear, wanted) ? std::optional(std::pair(factor, offset)) : std::nullopt;
  }
  return std::nullopt;
}

Linear linear_of(const Builder& builder, const Element& element) {
  const auto wanted = element.tried();
  if (!wanted) require_extents();
  for (const auto& [tried, axis] : builder.trials().seen_from(builder.block())) {
    if (!builder.trials().is_own(tried)) continue;
    if (const auto found = factor_and_offset(*wanted, tried)) return {axis, found->first, found->second};
  }
  require_extents();
}

Operand operand_of(Value value) {
  Operand operand;
  operand.value = value;
  return operand;
}

/// What one element stands for where all elements but it are known: total / others.
std::optional<int64_t> worked_out(const std::optional<Tried>& total, const std::vector<Element>& elements) {
  Tried rest;
  for (size_t i = 0; total && i < rest.size(); ++i) {
    int64_t others = 1;
    for (const Element& element : elements) {
      if (element && *element == -1) continue;
      const auto tried = element.tried();
      if (!tried) return std::nullopt;
      if ((*tried)[i] == kRefused || __builtin_mul_overflow(others, (*tried)[i], &others)) others = 0;
    }
    const bool is_live = (*total)[i] != kRefused && others > 0;
    if (is_live && (*total)[i] % others != 0) return std::nullopt;
    rest[i] = is_live ? (*total)[i] / others : kRefused;
  }
  return total ? constant(rest) : std::nullopt;
}

}  // namespace

bool same(const Element& a, const Element& b) {
  const auto left = a.tried(), right = b.tried();
  return left && right && agree(*left, *right);
}

Operand counted_elements(Builder& builder, const Node& node, const Elements& elements) {
  if (elements.dtype != DType::i64) require_extents();
  const auto constant = [](int64_t number) {
    return Builder::known(Tensor::of<int64_t>(DType::i64, {1}, {&number, 1}));
  };
  std::vector<Operand> numbers;
  for (const Element& element : elements.values) {
    if (element) {
      numbers.push_back(constant(*element));
      continue;
    }
    const auto [extent, factor, offset] = linear_of(builder, element);
    const Operand each =
        builder.make_one(node, "positions", {operand_of(extent.value)},
                         {{"axis", static_cast<int64_t>(extent.axis)}, {"start", factor}, {"step", int64_t{0}}});
    numbers.push_back(
        builder.make_one(node, "reduce_sum", {each}, {{"axes", std::vector<int64_t>{0}}, {"keep_dims", true}}));
    if (offset != 0) numbers.back() = builder.make_one(node, "add", {numbers.back(), constant(offset)});
  }
  if (elements.scalar) return builder.reshaped(node, numbers.at(0), {});
  return numbers.size() == 1 ? numbers[0] : builder.make_one(node, "concat", numbers, {{"axis", int64_t{0}}});
}

Element extent_of(const Builder& builder, const Operand& x, size_t axis) {
  const int64_t extent = x.dims()[axis];
  return extent == kUnknown ? Element(builder.trials().extent(x.value, axis)) : Element(extent);
}

Operand counted(Builder& builder, const Node& node, const Element& length, int64_t start, int64_t step) {
  const OpenAxis open = axis_of(builder, length);
  return builder.make_one(node, "positions", {operand_of(open.value)},
                          {{"axis", static_cast<int64_t>(open.axis)}, {"start", start}, {"step", step}});
}

Operand open_range(Builder& builder, const Node& node, const Operand& start, const Operand& limit,
                   const Operand& step) {
  const auto from = elements_of(start), to = elements_of(limit), by = elements_of(step);
  if (!from || !to || !by || !from->values[0] || !by->values[0]) require_extents();
  if (*by->values[0] != 1) throw NeedsExtents("it depends on open extents of the inputs, in steps");
  Operand indices = counted(builder, node, difference(to->values[0], from->values[0]), *from->values[0], 1);
  if (to->dtype == DType::i64) return indices;
  return builder.make_one(node, "cast", {indices}, {{"to", std::string(name(to->dtype))}});
}

Operand reshaped_to(Builder& builder, const Node& node, const Operand& x, const std::vector<Element>& extents) {
  Dims dims;
  std::vector<size_t> open;
  for (size_t i = 0; i < extents.size(); ++i) {
    dims.push_back(extents[i] ? *extents[i] : -1);
    if (extents[i]) continue;
    if (i < x.dims().size() && same(extent_of(builder, x, i), extents[i]))
      dims[i] = 0;  // reshape keeps it
    else
      open.push_back(i);
  }
  const auto left = std::ranges::find_if(extents, [](const Element& e) { return e && *e == -1; });
  const bool is_open = std::ranges::any_of(extents, [](const Element& e) { return !e; });
  if (left != extents.end() && is_open && x.value) {
    const auto extent = worked_out(builder.trials().elements(x.value), extents);
    if (extent) dims[static_cast<size_t>(left - extents.begin())] = *extent;
  }
  if (std::ranges::count(dims, -1) == 0 && std::ranges::count(dims, 0) == 1) std::ranges::replace(dims, 0, -1);
  if (std::ranges::count(dims, -1) <= 1) return builder.reshaped(node, x, dims);
  if (std::ranges::count(dims, -1) > 2)
    throw NeedsExtents("more than two extents of the result depend on open extents");
  const size_t at = open.back();
  const OpenAxis from = axis_of(builder, extents[at]);
  dims[at] = 1;  // that of `from` takes its place
  return builder.make_one(
      node, "reshape_by", {x, operand_of(from.value)},
      {{"dims", dims}, {"at", static_cast<int64_t>(at)}, {"axis", static_cast<int64_t>(from.axis)}});
}

Operand expanded_to(Builder& builder, const Node& node, Operand x, const std::vector<Element>& extents) {
  const size_t rank = std::max(extents.size(), x.dims().size()), added = rank - x.dims().size();
  std::vector<std::pair<size_t, Element>> open;
  Dims dims;
  for (size_t i = 0; i < extents.size(); ++i) {
    dims.push_back(extents[i] ? *extents[i] : 1);
    const size_t axis = i + rank - extents.size();
    const bool has_it = axis >= added && same(extent_of(builder, x, axis - added), extents[i]);
    if (extents[i] || has_it) continue;
    if (axis >= added && x.dims()[axis - added] != 1) require_extents();
    open.emplace_back(axis, extents[i]);
  }
  x = builder.make_one(node, "expand", {x}, {{"dims", dims}});
  for (const auto& [axis, extent] : open)
    x = builder.make_one(node, "gather", {x, counted(builder, node, extent, 0, 0)},
                         {{"axis", static_cast<int64_t>(axis)}});
  return x;
}

Operand part_of(Builder& builder, const Node& node, const Operand& x, size_t axis, const Element& start,
                const Element& end) {
  const Element extent = extent_of(builder, x, axis);
  /// Open places at a known distance from the end are known, as are those before the last one.
  const auto place = [&](const Element& open) {
    const Element from_end = open ? Element() : difference(open, extent);
    return from_end && *from_end < 0 ? from_end : open;
  };
  const Element first = place(start), last = same(end, extent) ? Element(INT64_MAX) : place(end);
  if (!first) require_extents();
  if (last)
    return builder.make_one(node, "slice", {x},
                            {{"starts", std::vector<int64_t>{*first}},
                             {"ends", std::vector<int64_t>{*last}},
                             {"axes", std::vector<int64_t>{static_cast<int64_t>(axis)}}});
  if (*first == 0 && extent && *extent == 1) return x;  // a part ends where x does
  if (*first < 0) require_extents();
  const Operand indices = counted(builder, node, difference(last, first), *first, 1);
  return builder.make_one(node, "gather", {x, indices}, {{"axis", static_cast<int64_t>(axis)}});
}

}  // namespace halfstep::formats
