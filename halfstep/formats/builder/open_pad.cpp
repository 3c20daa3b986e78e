#include "halfstep/formats/builder/open_pad.h"

#include <fmt/format.h>

#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/builder/errors.h"

namespace halfstep::formats {
namespace {

/// Gathers the elements of one axis by indices that are counted along the padded axis.
class OpenPad {
 public:
  OpenPad(Builder& builder, const Node& node) : builder_(builder), node_(node) {}

  Operand run(const Operand& x, const PaddedAxis& pad, const std::string& mode, const Operand& value) {
    const Element extent = extent_of(builder_, x, pad.axis);
    const Operand places = places_of(pad, sum(sum(pad.before, extent), pad.after));
    const Operand last = make("sub", {count(extent), number(1)});
    Operand inside;
    if (mode == "constant" || mode == "edge") {
      inside = make("min_of", {make("max_of", {places, number(0)}), last});
    } else if (mode == "reflect") {
      const Operand behind = make("abs", {make("sub", {last, make("abs", {places})})});
      inside = make("sub", {last, behind});
    } else {
      fail(errors::depends_on_extents(fmt::format("a pad of mode {}", mode)));
    }
    Operand padded = make("gather", {x, inside}, {{"axis", static_cast<int64_t>(pad.axis)}});
    if (mode != "constant") return padded;
    Dims column(x.dims().size() - pad.axis, 1);
    column[0] = -1;
    const Operand own = make("equal", {places, inside});
    return make("mask_fill", {padded, builder_.reshaped(node_, own, column), value}, {{"inverse", true}});
  }

 private:
  Operand make(const char* op, std::vector<Operand> operands, Attributes attributes = {}) {
    return builder_.make_one(node_, op, std::move(operands), std::move(attributes));
  }
  static Operand number(int64_t value) { return Builder::known(Tensor::of<int64_t>(DType::i64, {1}, {&value, 1})); }
  Operand count(const Element& element) { return counted_elements(builder_, node_, {{element}, false, DType::i64}); }

  /// Places in x of the elements of the result, negative before x.
  Operand places_of(const PaddedAxis& pad, const Element& length) {
    if (pad.before) return counted(builder_, node_, length, -*pad.before, 1);
    return make("sub", {counted(builder_, node_, length, 0, 1), count(pad.before)});
  }

  Builder& builder_;
  const Node& node_;
};

}  // namespace

Operand padded_by(Builder& builder, const Node& node, Operand x, const std::vector<PaddedAxis>& axes,
                  const std::string& mode, const Operand& value) {
  std::vector<int64_t> known, pads, after;
  for (const PaddedAxis& pad : axes) {
    if (!pad.before || !pad.after) continue;
    known.push_back(static_cast<int64_t>(pad.axis));
    pads.push_back(*pad.before);
    after.push_back(*pad.after);
  }
  pads.insert(pads.end(), after.begin(), after.end());
  if (!known.empty()) x = builder.make_one(node, "pad", {x, value}, {{"pads", pads}, {"axes", known}, {"mode", mode}});
  const Operand fill = value.there() ? value : Builder::known(filled(x.type().dtype, {}, 0));
  for (const PaddedAxis& pad : axes) {
    if (!pad.before || !pad.after) x = OpenPad(builder, node).run(x, pad, mode, fill);
  }
  return x;
}

}  // namespace halfstep::formats
