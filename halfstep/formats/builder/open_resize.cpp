#include "halfstep/formats/builder/open_resize.h"

#include <fmt/format.h>

#include "halfstep/core/base/attribute.h"
#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/builder/errors.h"

namespace halfstep::formats {
namespace {

/// Returns the growth factor of an axis if it is an integer.
std::optional<double> factor_of(const Element& size, const Element& extent) {
  const auto wanted = size.tried(), tried = extent.tried();
  for (size_t i = 0; wanted && tried && i < tried->size(); ++i) {
    if ((*wanted)[i] == kRefused || (*tried)[i] == kRefused || (*wanted)[i] % (*tried)[i] != 0) continue;
    const int64_t factor = (*wanted)[i] / (*tried)[i];
    Tried multiple = *tried;
    for (int64_t& number : multiple) number = number == kRefused ? number : factor * number;
    if (agree(multiple, *wanted)) return static_cast<double>(factor);
  }
  return std::nullopt;
}

/// Resamples one axis with indices and weights in double, as the kernel of resize computes them.
class Resampling {
 public:
  Resampling(Builder& builder, const Node& node, const Attributes& attributes)
      : builder_(builder), node_(node), attributes_(attributes) {
    const bool is_plain =
        text("mode") != "cubic" && !get<bool>(attributes, "antialias") && !get<bool>(attributes, "exclude_outside");
    if (!is_plain) fail(errors::depends_on_extents(fmt::format("a resize of mode {}", text("mode"))));
  }

  Operand run(const Operand& x, size_t axis, const Element& size) {
    in_ = real(count(extent_of(builder_, x, axis)));
    out_ = real(count(size));
    const Operand at = real(counted(builder_, node_, size, 0, 1));
    const Operand place = original_place(at);
    return text("mode") == "nearest" ? taken(x, axis, nearest(place)) : mixed(x, axis, place);
  }

 private:
  const std::string& text(const char* name) const { return get<std::string>(attributes_, name); }
  Operand make(const char* op, std::vector<Operand> operands, Attributes attributes = {}) {
    return builder_.make_one(node_, op, std::move(operands), std::move(attributes));
  }
  Operand number(double value) const { return Builder::known(filled(DType::f64, {1}, value)); }
  Operand real(const Operand& x) { return make("cast", {x}, {{"to", std::string("f64")}}); }
  Operand count(const Element& extent) { return counted_elements(builder_, node_, {{extent}, false, DType::i64}); }

  Operand original_place(const Operand& at) {
    const std::string& mode = text("coordinates");
    const Operand one = number(1), half = number(0.5), scale = make("div", {out_, in_});
    if (mode == "asymmetric") return make("div", {at, scale});
    if (mode == "half_pixel") return make("sub", {make("div", {make("add", {at, half}), scale}), half});
    if (mode == "pytorch_half_pixel") {
      const Operand place = make("sub", {make("div", {make("add", {at, half}), scale}), half});
      return make("select", {make("equal", {out_, one}), number(0), place});
    }
    if (mode != "align_corners") fail(errors::depends_on_extents(fmt::format("a resize with coordinates {}", mode)));
    const Operand place = make("div", {make("mul", {at, make("sub", {in_, one})}), make("sub", {out_, one})});
    return make("select", {make("equal", {out_, one}), number(0), place});
  }

  Operand nearest(const Operand& place) {
    const std::string& mode = text("nearest_mode");
    if (mode == "floor" || mode == "ceil") return make(mode.c_str(), {place});
    const bool prefers_ceil = mode == "round_prefer_ceil";
    return make(prefers_ceil ? "floor" : "ceil", {make(prefers_ceil ? "add" : "sub", {place, number(0.5)})});
  }

  /// Returns the elements at the positions, clamped to the outermost elements.
  Operand taken(const Operand& x, size_t axis, const Operand& places) {
    const Operand last = make("sub", {in_, number(1)});
    const Operand inside = make("min_of", {make("max_of", {places, number(0)}), last});
    return make("gather", {x, make("cast", {inside}, {{"to", std::string("i64")}})},
                {{"axis", static_cast<int64_t>(axis)}});
  }

  Operand mixed(const Operand& x, size_t axis, const Operand& place) {
    const DType dtype = x.type().dtype;
    const Operand wide = dtype == DType::f64 ? x : real(x), one = number(1), low = make("floor", {place});
    const Operand high = make("add", {low, one});
    Dims column(x.dims().size() - axis, 1);
    column[0] = -1;
    const auto weighted = [&](const Operand& at) {
      const Operand weight = make("sub", {one, make("abs", {make("sub", {at, place})})});
      return make("mul", {taken(wide, axis, at), builder_.reshaped(node_, weight, column)});
    };
    const Operand sum = make("add", {weighted(low), weighted(high)});
    return dtype == DType::f64 ? sum : make("cast", {sum}, {{"to", std::string(name(dtype))}});
  }

  Builder& builder_;
  const Node& node_;
  const Attributes& attributes_;
  Operand in_, out_;  ///< extents, in double
};

}  // namespace

Operand resized_to(Builder& builder, const Node& node, Operand x, const std::vector<ResizedAxis>& axes,
                   const Attributes& attributes) {
  std::vector<int64_t> sized, scaled, sizes;
  std::vector<double> scales;
  std::vector<ResizedAxis> others;
  for (const ResizedAxis& one : axes) {
    const Element extent = extent_of(builder, x, one.axis);
    if (same(one.size, extent)) continue;
    const auto factor = one.size ? std::nullopt : factor_of(one.size, extent);
    if (one.size) {
      sized.push_back(static_cast<int64_t>(one.axis));
      sizes.push_back(*one.size);
    } else if (factor) {
      scaled.push_back(static_cast<int64_t>(one.axis));
      scales.push_back(*factor);
    } else {
      others.push_back(one);
    }
  }
  const auto resize = [&](const char* what, Attribute values, const std::vector<int64_t>& along) {
    if (along.empty()) return;
    Attributes own = attributes;
    own["axes"] = along;
    own[what] = std::move(values);
    x = builder.make_one(node, "resize", {x}, own);
  };
  resize("scales", scales, scaled);
  resize("sizes", sizes, sized);
  for (const auto& [axis, size] : others) x = Resampling(builder, node, attributes).run(x, axis, size);
  return x;
}

}  // namespace halfstep::formats
