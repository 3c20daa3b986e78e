// Resamples to sizes or by scales, which may depend on dynamic extents if the aspect ratio is not kept.
#include <fmt/format.h>

#include <cmath>

#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/builder/open_resize.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

constexpr int64_t kHasSizes = 11;

Attributes attributes_of(const Node& node) {
  const bool is_new = node.version() >= kHasSizes;
  return {{"coordinates", node.text("coordinate_transformation_mode", is_new ? "half_pixel" : "asymmetric")},
          {"mode", node.text("mode", "nearest")},
          {"nearest_mode", node.text("nearest_mode", is_new ? "round_prefer_floor" : "floor")},
          {"cubic_coeff_a", node.real("cubic_coeff_a", -0.75)},
          {"exclude_outside", node.integer("exclude_outside", 0) != 0},
          {"antialias", node.integer("antialias", 0) != 0}};
}

/// Scales an extent. At each trial the result is an integer, or unknown.
Element scaled(const Element& extent, const Builder::TriedFloats& scale) {
  constexpr double kRounding = 1e-3;
  const auto tried = extent.tried();
  if (!tried) return {};
  Tried size;
  for (size_t i = 0; i < size.size(); ++i) {
    const double real = (*tried)[i] == kRefused ? NAN : scale[i] * static_cast<double>((*tried)[i]);
    if (std::fabs(real - std::nearbyint(real)) > kRounding) return {};
    size[i] = std::isnan(real) ? kRefused : std::llround(real);
  }
  return Element(std::optional(size));
}

std::vector<Element> sizes_of(Translator& translator, const Node& node, const Operand& x,
                              const std::vector<size_t>& axes) {
  const size_t place = node.version() >= kHasSizes ? 3 : 1;
  if (place == 3 && node.has_input(place)) {
    const auto sizes = translator.elements(translator.in(node, place));
    if (sizes) return sizes->values;
  } else if (const auto scales = translator.tried_floats(translator.in(node, place == 3 ? 2 : 1))) {
    std::vector<Element> sizes;
    for (size_t i = 0; i < axes.size() && i < scales->size(); ++i)
      sizes.push_back(scaled(extent_of(translator, x, axes[i]), (*scales)[i]));
    return sizes;
  }
  fail(errors::depends_on_values("it", node.input(place == 3 && !node.has_input(place) ? 2 : place)));
}

bool is_known(const Operand& operand) { return !operand.there() || operand.known(); }

}  // namespace

void translate_Resize(Translator& translator, const Node& node) {
  const bool all_known =
      is_known(translator.in(node, 1)) && is_known(translator.in(node, 2)) && is_known(translator.in(node, 3));
  if (all_known) return translator.by_record(node);
  const Operand x = translator.in(node, 0);
  std::vector<size_t> axes;
  const auto rank = static_cast<int64_t>(x.dims().size());
  std::vector<int64_t> named;
  for (int64_t axis = 0; axis < rank; ++axis) named.push_back(axis);
  named = node.integers("axes").value_or(named);
  for (const int64_t axis : named) axes.push_back(static_cast<size_t>(axis < 0 ? axis + rank : axis));
  const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
  const Attributes attributes = attributes_of(node);
  const std::string coordinates = get<std::string>(attributes, "coordinates");
  if (policy != "stretch" || coordinates == "tf_crop_and_resize" || coordinates == "tf_half_pixel_for_nn")
    fail(errors::depends_on_extents(fmt::format("a resize with {} and {}", policy, coordinates)));
  node.real("extrapolation_value", 0);  // only used by tf_crop_and_resize
  const std::vector<Element> sizes = sizes_of(translator, node, x, axes);
  if (sizes.size() != axes.size())
    fail(errors::wrong_count(node.where(), "sizes or scales", sizes.size(), axes.size()));
  std::vector<ResizedAxis> resized;
  for (size_t i = 0; i < axes.size(); ++i) resized.push_back({axes[i], sizes[i]});
  translator.set(node, 0, resized_to(translator, node, x, resized, attributes));
}

}  // namespace halfstep::formats::onnx
