#include "halfstep/formats/builder/dynamic_dims.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "halfstep/formats/builder/errors.h"

namespace halfstep::formats {
namespace {

/// Combines two elements at each trial. The result is unknown if one of them is.
template <class Arithmetic>
Element combined(const Element& a, const Element& b, Arithmetic arithmetic) {
  const auto left = a.tried(), right = b.tried();
  if (!left || !right) return {};
  Tried tried;
  for (size_t i = 0; i < tried.size(); ++i) {
    const bool is_live = (*left)[i] != kRefused && (*right)[i] != kRefused;
    tried[i] = is_live ? arithmetic((*left)[i], (*right)[i]) : kRefused;
  }
  return Element(std::optional(tried));
}

Element difference(const Element& a, const Element& b) { return combined(a, b, std::minus<int64_t>()); }
Element product(const Element& a, const Element& b) { return combined(a, b, std::multiplies<int64_t>()); }

[[noreturn]] void require_extents() { fail(errors::depends_on_extents("it")); }

Operand operand_of(Value value) {
  Operand operand;
  operand.value = value;
  return operand;
}

/// floor((factor * extent + offset) / divisor).
struct Quotient {
  int64_t factor, offset, divisor;
};

/// Largest divisor for which the trials cover all remainders.
constexpr int64_t kMostDivisor = 8;

/// Returns `wanted` as a quotient of an extent with the trials `tried`, for this divisor. Returns nothing if there is
/// none, if several offsets agree with all trials, or if some remainders are not tried.
std::optional<Quotient> quotient_by(int64_t divisor, const Tried& wanted, const Tried& tried) {
  constexpr int64_t kMostFactor = 64, kMostOffset = 4096;
  int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max(), factor = 0;
  std::set<int64_t> rests;
  size_t live = 0;
  for (size_t i = tried.size(); i-- > 0;) {
    if (wanted[i] == kRefused || tried[i] < 1 || wanted[i] < 0) continue;
    if (live++ == 0) factor = std::llround(static_cast<double>(divisor * wanted[i]) / static_cast<double>(tried[i]));
    low = std::max(low, divisor * wanted[i] - factor * tried[i]);
    high = std::min(high, divisor * wanted[i] - factor * tried[i] + divisor - 1);
    rests.insert(tried[i] % divisor);
  }
  const bool is_sure = live >= 3 && std::ssize(rests) == divisor && low == high;
  const bool is_small = factor >= 1 && factor <= kMostFactor && std::abs(low) <= kMostOffset;
  return is_sure && is_small ? std::optional(Quotient{factor, low, divisor}) : std::nullopt;
}

Operand known_zeros(int64_t count) { return Builder::known(Tensor(DType::i64, {count})); }

/// Builds a list whose length is a quotient of the extent `of`.
OpenAxis list_of(Builder& builder, const Node& node, const OpenAxis& of, const Quotient& quotient) {
  const auto part = [&](const Operand& x, int64_t start, int64_t step) {
    return builder.make_one(node, "slice", {x},
                            {{"starts", std::vector<int64_t>{start}},
                             {"ends", std::vector<int64_t>{INT64_MAX}},
                             {"axes", std::vector<int64_t>{0}},
                             {"steps", std::vector<int64_t>{step}}});
  };
  const Operand each = builder.make_one(node, "positions", {operand_of(of.value)},
                                        {{"axis", static_cast<int64_t>(of.axis)}, {"step", int64_t{0}}});
  std::vector<Operand> parts(static_cast<size_t>(quotient.factor), each);
  if (quotient.offset > 0) parts.push_back(known_zeros(quotient.offset));
  Operand list = parts.size() == 1 ? each : builder.make_one(node, "concat", parts, {{"axis", int64_t{0}}});
  if (quotient.offset < 0) list = part(list, -quotient.offset, 1);
  if (quotient.divisor > 1) list = part(list, quotient.divisor - 1, quotient.divisor);
  return {list.value, 0};
}

/// Returns an existing axis with this extent, or the axis of a new list.
OpenAxis axis_of(Builder& builder, const Node& node, const Element& extent) {
  const auto wanted = extent.tried();
  if (!wanted) require_extents();
  if (const auto found = builder.trials().find(*wanted, builder.block())) return *found;
  const auto seen = builder.trials().seen_from(builder.block());
  for (int64_t divisor = 1; divisor <= kMostDivisor; ++divisor) {
    for (const auto& [tried, axis] : seen) {
      if (const auto quotient = quotient_by(divisor, *wanted, tried)) return list_of(builder, node, axis, *quotient);
    }
  }
  require_extents();
}

/// Returns factor and offset, which may be negative, that compute `wanted` from an extent with the trials `tried`.
std::optional<std::pair<int64_t, int64_t>> factor_and_offset(const Tried& wanted, const Tried& tried) {
  const auto is_live = [&](size_t i) { return wanted[i] != kRefused && tried[i] != kRefused; };
  size_t first = 0;
  while (first < tried.size() && !is_live(first)) ++first;
  for (size_t i = first + 1; i < tried.size(); ++i) {
    if (!is_live(i)) continue;
    const int64_t rise = wanted[i] - wanted[first], run = tried[i] - tried[first];
    if (run == 0) continue;
    if (rise % run != 0) return std::nullopt;
    const int64_t factor = rise / run, offset = wanted[first] - factor * tried[first];
    Tried linear = tried;
    for (int64_t& number : linear) number = number == kRefused ? number : factor * number + offset;
    return factor != 0 && agree(linear, wanted) ? std::optional(std::pair(factor, offset)) : std::nullopt;
  }
  return std::nullopt;
}

/// Returns an element as a list of one.
Operand number_of(Builder& builder, const Node& node, const Element& element) {
  if (element) {
    const int64_t number = *element;
    return Builder::known(Tensor::of<int64_t>(DType::i64, {1}, {&number, 1}));
  }
  const auto tried = element.tried();
  if (!tried) require_extents();
  for (const auto& [extent, axis] : builder.trials().seen_from(builder.block())) {
    const auto linear = factor_and_offset(*tried, extent);
    if (!linear) continue;
    const Operand each =
        builder.make_one(node, "positions", {operand_of(axis.value)},
                         {{"axis", static_cast<int64_t>(axis.axis)}, {"start", linear->first}, {"step", int64_t{0}}});
    const Operand total =
        builder.make_one(node, "reduce_sum", {each}, {{"axes", std::vector<int64_t>{0}}, {"keep_dims", true}});
    return linear->second == 0
               ? total
               : builder.make_one(node, "add", {total, number_of(builder, node, Element(linear->second))});
  }
  const OpenAxis axis = axis_of(builder, node, element);
  return number_of(builder, node, extent_of(builder, operand_of(axis.value), axis.axis));
}

/// Counts the numbers from `first` in steps of `step`, before `limit`.
Element steps_between(const Element& first, const Element& limit, int64_t step) {
  return combined(limit, first, [step](int64_t to, int64_t from) {
    const int64_t way = step > 0 ? to - from : from - to, each = std::abs(step);
    return way <= 0 ? int64_t{0} : (way + each - 1) / each;
  });
}

/// Infers the one unknown element from the others: total / others. Throws if there is a remainder.
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
    if (is_live && (*total)[i] % others != 0) require_extents();
    rest[i] = is_live ? (*total)[i] / others : kRefused;
  }
  return total ? constant(rest) : std::nullopt;
}

}  // namespace

Element sum(const Element& a, const Element& b) { return combined(a, b, std::plus<int64_t>()); }

Element equal_parts(const Element& extent, int64_t count, size_t number) {
  return combined(extent, Element(static_cast<int64_t>(number)),
                  [count](int64_t whole, int64_t parts) { return (whole + count - 1) / count * parts; });
}

bool same(const Element& a, const Element& b) {
  const auto left = a.tried(), right = b.tried();
  return left && right && agree(*left, *right);
}

Operand counted_elements(Builder& builder, const Node& node, const Elements& elements) {
  if (elements.dtype != DType::i64 || elements.columns > 0) require_extents();
  std::vector<Operand> numbers;
  for (const Element& element : elements.values) numbers.push_back(number_of(builder, node, element));
  if (elements.scalar) return builder.reshaped(node, numbers.at(0), {});
  return numbers.size() == 1 ? numbers[0] : builder.make_one(node, "concat", numbers, {{"axis", int64_t{0}}});
}

Element extent_of(const Builder& builder, const Operand& x, size_t axis) {
  const int64_t extent = x.dims()[axis];
  return extent == kUnknown ? Element(builder.trials().extent(x.value, axis)) : Element(extent);
}

Operand counted(Builder& builder, const Node& node, const Element& length, int64_t start, int64_t step) {
  if (length) {
    Tensor numbers(DType::i64, {*length});
    for (int64_t i = 0; i < *length; ++i) numbers.data<int64_t>()[static_cast<size_t>(i)] = start + i * step;
    return Builder::known(std::move(numbers));
  }
  const OpenAxis open = axis_of(builder, node, length);
  return builder.make_one(node, "positions", {operand_of(open.value)},
                          {{"axis", static_cast<int64_t>(open.axis)}, {"start", start}, {"step", step}});
}

namespace {

/// Returns the number if it does not depend on dynamic extents.
std::optional<double> constant_real(const Builder::TriedFloats& floats) {
  const auto known = std::ranges::find_if(floats, [](double real) { return !std::isnan(real); });
  const auto agrees = [&](double real) { return std::isnan(real) || real == *known; };
  return known != floats.end() && std::ranges::all_of(floats, agrees) ? std::optional(*known) : std::nullopt;
}

std::optional<int64_t> whole_constant(const Builder::TriedFloats& floats) {
  const auto real = constant_real(floats);
  const bool is_whole = real && *real == std::trunc(*real) && std::fabs(*real) < 0x1p53;
  return is_whole ? std::optional(std::llround(*real)) : std::nullopt;
}

/// Returns the length of a range at each trial.
Element length_of(const Builder::TriedFloats& start, const Builder::TriedFloats& limit,
                  const Builder::TriedFloats& step) {
  Tried length;
  for (size_t i = 0; i < length.size(); ++i) {
    const double count = std::ceil((limit[i] - start[i]) / step[i]);
    length[i] = std::isfinite(count) ? static_cast<int64_t>(std::max(count, 0.0)) : kRefused;
  }
  return Element(std::optional(length));
}

}  // namespace

std::optional<Operand> open_range(Builder& builder, const Node& node, const RangeOperands& operands, DType dtype) {
  const auto& [start, limit, step] = operands;
  const auto from = builder.tried_floats(start), to = builder.tried_floats(limit), by = builder.tried_floats(step);
  if (!from || !to || !by || from->size() != 1 || to->size() != 1 || by->size() != 1) return std::nullopt;
  if (constant_real((*from)[0]) && constant_real((*to)[0]) && constant_real((*by)[0])) return std::nullopt;
  const std::optional<int64_t> first = whole_constant((*from)[0]), each = whole_constant((*by)[0]);
  // A float start is added later, which rounds once more.
  const bool has_start = first && each && (!is_float(dtype) || *first == 0);
  const auto cast = [&](const Operand& x) {
    return x.type().dtype == dtype ? x : builder.make_one(node, "cast", {x}, {{"to", std::string(name(dtype))}});
  };
  const Element length = length_of((*from)[0], (*to)[0], (*by)[0]);
  Operand numbers = cast(counted(builder, node, length, has_start ? *first : 0, each.value_or(1)));
  if (!each) numbers = builder.make_one(node, "mul", {numbers, cast(builder.reshaped(node, step, {1}))});
  if (!has_start) numbers = builder.make_one(node, "add", {numbers, cast(builder.reshaped(node, start, {1}))});
  return numbers;
}

Operand reshaped_to(Builder& builder, const Node& node, const Operand& x, const std::vector<Element>& extents) {
  Dims dims;
  std::vector<size_t> open;
  for (size_t i = 0; i < extents.size(); ++i) {
    dims.push_back(extents[i] ? *extents[i] : -1);
    if (extents[i]) continue;
    if (i < x.dims().size() && same(extent_of(builder, x, i), extents[i]))
      dims[i] = 0;  // reshape keeps the extent
    else
      open.push_back(i);
  }
  const auto left = std::ranges::find_if(extents, [](const Element& e) { return e && *e == -1; });
  const bool is_open = std::ranges::any_of(extents, [](const Element& e) { return !e; });
  if (left != extents.end() && is_open && x.value) {
    const auto extent = worked_out(builder.trials().elements(x.value), extents);
    // A 0 would keep an extent of x, so -1 stays for a tensor without elements and becomes 0.
    if (extent && *extent != 0) dims[static_cast<size_t>(left - extents.begin())] = *extent;
  }
  if (std::ranges::count(dims, -1) == 0 && std::ranges::count(dims, 0) == 1) std::ranges::replace(dims, 0, -1);
  if (std::ranges::count(dims, -1) <= 1) return builder.reshaped(node, x, dims);
  if (std::ranges::count(dims, -1) > 2)
    fail(errors::depends_on_extents("a result with more than two dynamic dimensions"));
  const size_t at = open.back();
  const OpenAxis from = axis_of(builder, node, extents[at]);
  dims[at] = 1;  // the extent of `from` replaces it
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
                const Element& end, int64_t step) {
  const Element extent = extent_of(builder, x, axis);
  /// Clamps unknown positions to a dynamic extent. A position at a constant distance from the end is known.
  const auto place = [&](const Element& given) {
    const bool is_open = !given && !extent;
    const Element open = is_open ? combined(given, extent, [](int64_t a, int64_t b) { return std::min(a, b); }) : given;
    if (same(open, extent)) return Element(INT64_MAX);
    const Element from_end = open ? Element() : difference(open, extent);
    return from_end && *from_end < 0 ? from_end : open;
  };
  const Element first = place(start), last = place(end);
  if (first && last) {
    Attributes attributes = {{"starts", std::vector<int64_t>{*first}},
                             {"ends", std::vector<int64_t>{*last}},
                             {"axes", std::vector<int64_t>{static_cast<int64_t>(axis)}}};
    if (step != 1) attributes["steps"] = std::vector<int64_t>{step};
    return builder.make_one(node, "slice", {x}, attributes);
  }
  if (step < 1) require_extents();
  if (first && *first == 0 && extent && *extent == 1) return x;  // the part ends where x ends
  /// Converts a position from the end to one from the start.
  const auto from_start = [&](const Element& at) {
    if (at && *at == INT64_MAX) return extent;
    return at && *at < 0 ? sum(extent, at) : at;
  };
  const Element begin = from_start(first);
  const Element length = steps_between(begin, from_start(last), step);
  Operand indices = counted(builder, node, length, begin ? *begin : 0, step);
  if (!begin) indices = builder.make_one(node, "add", {indices, number_of(builder, node, begin)});
  return builder.make_one(node, "gather", {x, indices}, {{"axis", static_cast<int64_t>(axis)}});
}

Operand repeated(Builder& builder, const Node& node, Operand x, size_t axis, const Element& times) {
  std::vector<Element> split, merged;
  for (size_t i = 0; i < x.dims().size(); ++i) {
    const Element extent = extent_of(builder, x, i);
    if (i == axis) split.emplace_back(1);
    split.push_back(extent);
    merged.push_back(i == axis ? product(times, extent) : extent);
  }
  std::vector<Element> spread = split;
  spread[axis] = times;
  const bool is_one = x.dims()[axis] == 1;
  if (is_one) return expanded_to(builder, node, x, merged);
  x = expanded_to(builder, node, reshaped_to(builder, node, x, split), spread);
  return reshaped_to(builder, node, x, merged);
}

}  // namespace halfstep::formats
