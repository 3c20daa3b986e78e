#include "halfstep/formats/open_extents.h"

#include <algorithm>

namespace halfstep::formats {
namespace {

bool same(const Element& a, const Element& b) {
  const auto left = a.tried(), right = b.tried();
  return left && right && agree(*left, *right);
}

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
  const auto found = tried ? builder.trials().find(*tried) : std::nullopt;
  if (!found) require_extents();
  return *found;
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
  const Operand indices = counted(builder, node, difference(to->values[0], from->values[0]), *from->values[0], 1);
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
