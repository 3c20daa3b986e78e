#include "halfstep/formats/paddle/shared_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "halfstep/formats/builder/errors.h"

namespace halfstep::formats::paddle {

Operand constant(const Node& node, DType dtype, const Dims& dims, double value) {
  constexpr int64_t kMost = int64_t{1} << 28;
  if (std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; }))
    fail(errors::negative_extents(node.where(), to_string(dims)));
  if (count_elements(dims) > kMost)
    fail(errors::constant_too_large(node.where(), "a constant of the extents " + to_string(dims), kMost));
  return Translator::known(filled(dtype, dims, value));
}

Operand as_float(Translator& translator, const Node& node, const Operand& weights, const Operand& like) {
  const DType dtype = like.type().dtype;
  if (weights.type().dtype != DType::i8 || !is_float(dtype)) return weights;
  return translator.make_one(node, "cast", {weights}, {{"to", std::string(name(dtype))}});
}

WindowSpec window_spec(const Node& node, std::vector<int64_t> kernel, bool ceil_mode) {
  WindowSpec spec{std::move(kernel), node.integers("strides"), node.integers("dilations"), {}, Padding::given,
                  ceil_mode};
  const std::vector<int64_t> pads = node.integers("paddings");  // [height, width], or [top, bottom, left, right]
  if (pads.size() == 2)
    spec.pads = {pads[0], pads[1], pads[0], pads[1]};
  else if (pads.size() == 4)
    spec.pads = {pads[0], pads[2], pads[1], pads[3]};
  else if (!pads.empty())
    fail(errors::wrong_count(node.where(), "paddings", pads.size(), "2 or 4"));
  const std::string algorithm = node.text("padding_algorithm", "EXPLICIT");
  if (algorithm == "SAME")
    spec.padding = Padding::same_upper;
  else if (algorithm == "VALID")
    spec.padding = Padding::none;
  else if (algorithm != "EXPLICIT")
    fail(errors::wrong_attribute_word(node.where(), "padding_algorithm", quote(algorithm)));
  return spec;
}

void translate_convolution(Translator& translator, const Node& node) {
  const Operand x = translator.require(node, {"Input", 0});
  const Operand w = as_float(translator, node, translator.require(node, {"Filter", 1}), x);
  const Operand b = node.numbers_slots() ? Operand() : translator.in(node, {"Bias", 2});
  const Dims weight = w.dims();
  if (x.dims().size() != 4 || weight.size() != 4)
    fail(errors::wrong_extents(node.where(), fmt::format("{} and weights {}", to_string(x.type()), to_string(w.type())),
                               "4 extents of both"));
  const WindowSpec spec = window_spec(node, {weight[2], weight[3]}, false);
  const int64_t groups = node.integer("groups", 1);
  const Operand y = convolution(translator, node, {x, w, b}, window_of(node, x.dims(), spec), groups);
  translator.set(node, {node.numbers_slots() ? "" : "Output", 0}, y);
}

void translate_elementwise(Translator& translator, const Node& node) {
  const Operand x = translator.require(node, {"X", 0});
  Operand y = translator.require(node, {"Y", 1});
  const int64_t axis = node.integer("axis", -1);
  const auto rank = static_cast<int64_t>(x.dims().size()), taken = static_cast<int64_t>(y.dims().size());
  if (axis < -1 || (axis != -1 && axis + taken > rank))
    fail(errors::axis_out_of_range(node.where(), axis,
                                   fmt::format("{} with room for {}", to_string(x.type()), to_string(y.type()))));
  if (axis != -1 && axis + taken < rank) {
    Dims dims = y.dims();
    dims.resize(static_cast<size_t>(rank - axis), 1);
    y = translator.reshaped(node, y, dims);
  }
  translator.by_record(node.without("axis"), {x, y});
}

void translate_reduction(Translator& translator, const Node& node, std::string_view op) {
  Operand x = translator.require(node, {"X", 0});
  std::vector<int64_t> axes = translator.integers(node, node.numbers_slots() ? "axis" : "dim", 1);
  if (node.flag("reduce_all", false)) axes.clear();
  const bool keeps = node.flag(node.attribute("keepdim") != nullptr ? "keepdim" : "keep_dim", false);
  const char* dtype = node.numbers_slots() ? "dtype" : "out_dtype";
  const Attribute* given = node.attribute(dtype);
  const bool is_same = given == nullptr || *given == Attribute("") || *given == Attribute(int64_t{-1});
  if (!is_same && dtype_of(node, dtype) != x.type().dtype)
    x = translator.make_one(node, "cast", {x}, {{"to", std::string(name(dtype_of(node, dtype)))}});
  translator.set(node, {"Out", 0}, translator.make_one(node, op, {x}, {{"axes", axes}, {"keep_dims", keeps}}));
}

namespace {

/// Returns the mode that maps positions of the result to positions in x.
std::string coordinates_of(const Node& node, bool nearest) {
  const bool corners = node.flag("align_corners", true);
  const int64_t align_mode = node.integer("align_mode", 1);
  if (corners) return "align_corners";
  return nearest || align_mode == 1 ? "asymmetric" : "half_pixel";
}

}  // namespace

void translate_resize(Translator& translator, const Node& node) {
  const Operand x = translator.require(node, {"X", 0});
  const std::string method = node.text("interp_method", "nearest");
  const bool nearest = method == "nearest";
  if (x.dims().size() != 4 || (!nearest && method != "bilinear"))
    fail(errors::form_not_supported(node.where(), fmt::format("interp_method {} of {}", method, to_string(x.type())),
                                    "nearest or bilinear of 4 extents", ""));
  const std::string coordinates = coordinates_of(node, nearest);
  Attributes attributes = {{"axes", std::vector<int64_t>{2, 3}},
                           {"mode", std::string(nearest ? "nearest" : "linear")},
                           {"coordinates", coordinates},
                           {"nearest_mode", std::string(coordinates == "asymmetric" ? "floor" : "round_prefer_ceil")}};
  std::vector<int64_t> sizes = translator.integers(node, "size", 2);
  if (sizes.empty()) sizes = translator.integers(node, "outSize", 1);
  const auto given = translator.setting(node, "scale", 3);
  const std::vector<int64_t> stated = {node.integer("out_h", -1), node.integer("out_w", -1)};
  std::vector<double> scales = given ? numbers_of(*given, node.where() + ": scale") : std::vector<double>();
  if (scales.size() == 1) scales.push_back(scales[0]);
  node.integer("out_d", -1);  // only used for volumes
  if (sizes.empty() && scales.empty()) sizes = stated;
  if (!sizes.empty())
    attributes["sizes"] = sizes;
  else
    attributes["scales"] = scales;
  translator.set(node, {"Out", 0}, translator.make_one(node, "resize", {x}, attributes));
}

namespace {

/// Returns a part of a list of extents, some of them dynamic. `to_number` returns its one element as a number.
Operand part_of(const Elements& list, int64_t start, int64_t end, bool to_number) {
  const auto size = static_cast<int64_t>(list.values.size());
  const auto place = [size](int64_t at) { return std::clamp(at < 0 ? at + size : at, int64_t{0}, size); };
  const int64_t first = place(start), last = std::max(first, place(end));
  Elements part{{list.values.begin() + first, list.values.begin() + last}, to_number && last == first + 1, list.dtype};
  Operand result;
  if (part.known())
    result = Translator::known(part.tensor());
  else
    result.elements = std::move(part);
  return result;
}

}  // namespace

void translate_slice(Translator& translator, const Node& node, const std::vector<int64_t>& starts,
                     const std::vector<int64_t>& ends, const std::vector<int64_t>& steps) {
  const Operand x = translator.require(node, {"Input", 0});
  const std::vector<int64_t> axes = node.integers("axes"), gone = node.integers("decrease_axis");
  if (starts.size() != axes.size() || ends.size() != axes.size() || steps.size() != axes.size())
    fail(errors::wrong_extents(node.where(),
                               fmt::format("{} starts, {} ends and {} steps", starts.size(), ends.size(), steps.size()),
                               fmt::format("{} of each, one for an axis", axes.size())));
  if (x.elements && axes == std::vector<int64_t>{0} && steps == std::vector<int64_t>{1})
    return translator.set(node, {"Out", 0}, part_of(*x.elements, starts[0], ends[0], !gone.empty()));
  const Attributes attributes = {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}};
  Operand part = translator.make_one(node, "slice", {x}, attributes);
  if (!gone.empty()) part = translator.make_one(node, "squeeze", {part}, {{"axes", gone}});
  translator.set(node, {"Out", 0}, part);
}

void translate_split(Translator& translator, const Node& node, int64_t axis, std::vector<int64_t> parts,
                     int64_t count) {
  const Operand x = translator.require(node, {"X", 0});
  const auto rank = static_cast<int64_t>(x.dims().size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) fail(errors::axis_out_of_range(node.where(), axis, to_string(x.dims())));
  const int64_t extent = x.dims()[static_cast<size_t>(axis)];
  if (extent == kUnknown) fail(errors::depends_on_extents("a split of a dynamic dimension"));
  if (parts.empty() && count > 0 && count <= extent && extent % count == 0)
    parts.assign(static_cast<size_t>(count), extent / count);
  const std::string said = to_string(parts);
  const Slot* slot = node.output({"Out", 0});
  const size_t outputs = slot == nullptr ? 0 : slot->values.size();
  int64_t rest = extent, *open = nullptr;
  for (int64_t& part : parts) {
    if (part < -1 || part > rest || (part == -1 && open != nullptr))
      fail(errors::parts_do_not_fit(node.where(), said, extent, outputs));
    if (part == -1)
      open = &part;
    else
      rest -= part;
  }
  if (open != nullptr) *open = std::exchange(rest, 0);
  if (rest != 0) fail(errors::parts_do_not_fit(node.where(), said, extent, outputs));
  std::vector<Operand> results;
  int64_t at = 0;
  for (const int64_t part : parts) {
    const Attributes attributes = {{"starts", std::vector<int64_t>{at}},
                                   {"ends", std::vector<int64_t>{at + part}},
                                   {"axes", std::vector<int64_t>{axis}}};
    results.push_back(translator.make_one(node, "slice", {x}, attributes));
    at += part;
  }
  translator.set_list(node, {"Out", 0}, results);
}

}  // namespace halfstep::formats::paddle
