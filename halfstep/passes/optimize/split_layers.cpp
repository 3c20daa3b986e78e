#include "halfstep/passes/optimize/split_layers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

/// Range of a slice along its axis, in steps of 1.
struct Columns {
  int64_t begin, extent;
};

/// Whether the outputs of the layer are rows of stored operands. An operand of one element applies to all rows.
bool has_rows(Op op) {
  const std::vector<Value> operands = op.operands();
  return std::all_of(operands.begin() + 1, operands.end(), [&](Value value) {
    return !value || (value.is_tensor() && !updater_of(value) && value.dtype() != DType::i4 &&
                      (value.dims()[0] == op.out(0).dims()[1] || value.dims() == Dims{1}));
  });
}

/// Operations between a layer and the slices of its outputs.
struct Way {
  std::vector<Op> reshapes;  ///< each splits the outputs further, or the rows
  Op transpose;              ///< after the reshapes, or null
  size_t axis;               ///< slowest of the axes that the outputs are split into
  int64_t extent;            ///< extent of `axis`
  int64_t sliced;            ///< position of `axis` after the transpose
  std::vector<std::pair<ops::Slice, Columns>> slices;
};

/// Returns the axis from which on `dims` hold exactly `outputs` elements. Returns nothing if rows and outputs share an
/// axis.
std::optional<size_t> first_axis_of(const Dims& dims, int64_t outputs) {
  int64_t product = 1;
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (dims[axis] == kUnknown) return std::nullopt;
    product *= dims[axis];
    if (product == outputs && (axis == 0 || dims[axis] != 1)) return axis;
    if (product == 0 || product > outputs) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Columns> columns_of(const ops::Slice& slice, int64_t axis) {
  const std::vector<int64_t>&axes = slice.axes(), &steps = slice.steps();
  const bool is_along = axes.size() == 1 && slice.starts().size() == 1 && slice.ends().size() == 1 &&
                        (axes[0] == axis || axes[0] + static_cast<int64_t>(slice.x().dims().size()) == axis);
  if (!is_along || (!steps.empty() && steps[0] != 1)) return std::nullopt;
  const int64_t all = slice.x().dims()[static_cast<size_t>(axis)], begin = slice.starts()[0];
  const Columns part{begin < 0 ? begin + all : begin, slice.out().dims()[static_cast<size_t>(axis)]};
  const bool is_within = part.begin >= 0 && part.extent > 0 && part.begin + part.extent <= all;
  return is_within ? std::optional(part) : std::nullopt;
}

/// Whether a reshape on the path can produce the extents of `part` of `all` along the axis that it splits the outputs
/// into.
bool can_part(Op reshape, int64_t outputs, int64_t part, int64_t all) {
  const auto axis = static_cast<std::ptrdiff_t>(*first_axis_of(reshape.out(0).dims(), outputs));
  const auto& dims = get<std::vector<int64_t>>(reshape.attributes(), "dims");
  return reshape.out(0).dims()[static_cast<size_t>(axis)] * part % all == 0 &&
         std::find(dims.begin() + axis, dims.end(), 0) == dims.end();
}

std::optional<Way> way_of(Op layer) {
  const int64_t outputs = layer.out(0).dims()[1];
  Way way{{}, {}, 1, outputs, 1, {}};
  Value end = layer.out(0);
  for (Op next = only_reader(end); next.is<ops::Reshape, ops::ReshapeBy>(); next = only_reader(end)) {
    end = next.out(0);
    const auto axis = first_axis_of(end.dims(), outputs);
    if (!axis) return std::nullopt;
    way.reshapes.push_back(next);
    way.axis = *axis;
    way.extent = end.dims()[*axis];
  }
  way.sliced = static_cast<int64_t>(way.axis);
  if (const Op next = only_reader(end); next.is<ops::Transpose>()) {
    const auto& perm = ops::Transpose(next.node()).perm();
    way.sliced = std::ranges::find(perm, way.sliced) - perm.begin();
    way.transpose = next;
    end = next.out(0);
  }
  int64_t read = 0;
  for (const auto& [reader, port] : end.uses()) {
    if (!reader.is<ops::Slice>()) return std::nullopt;
    const ops::Slice slice(reader.node());
    const auto part = columns_of(slice, way.sliced);
    const auto says_part = [&](Op reshape) { return can_part(reshape, outputs, part->extent, way.extent); };
    if (!part || !std::ranges::all_of(way.reshapes, says_part)) return std::nullopt;
    read += part->extent;
    way.slices.emplace_back(slice, *part);
  }
  const bool is_split = way.slices.size() > 1 && read <= way.extent && !is_output(end);
  return is_split ? std::optional(std::move(way)) : std::nullopt;
}

class Split {
 public:
  Split(Model& model, Op layer, const Way& way) : model_(model), layer_(layer), way_(way) {}

  void run() {
    for (const auto& [slice, part] : way_.slices) {
      const Op squeeze = only_reader(slice.out());
      const bool drops = part.extent == 1 && way_.axis + 1 < end_dims().size() && squeeze.is<ops::Squeeze>() &&
                         ops::Squeeze(squeeze.node()).axes() == std::vector<int64_t>{way_.sliced};
      replace(model_.graph, drops ? squeeze : slice,
              moved(part_layer(slice, part), slice, part.extent, drops).producer());
      if (drops) model_.graph.erase(slice);
    }
  }

 private:
  int64_t outputs() const { return layer_.out(0).dims()[1]; }
  const Dims& end_dims() const {
    return way_.reshapes.empty() ? layer_.out(0).dims() : way_.reshapes.back().out(0).dims();
  }

  Value part_of_tensor(Value tensor, Op slice, int64_t begin, int64_t count) {
    if (!tensor || tensor.dims()[0] != outputs()) return tensor;
    const Role role = tensor.role();
    return add_tensor(model_, slice.name() + "." + tensor.name(),
                      model_.tensors.at(tensor.name()).rows(begin, begin + count), role);
  }

  Value part_layer(Op slice, const Columns& part) {
    const int64_t width = outputs() / way_.extent;
    std::vector<Value> operands = layer_.operands();
    for (size_t i = 1; i < operands.size(); ++i)
      operands[i] = part_of_tensor(operands[i], slice, part.begin * width, part.extent * width);
    return insert_before(model_.graph, slice, layer_.info(), std::move(operands), layer_.attributes()).out(0);
  }

  /// Applies the operations of the path to one part. `drops` removes the axis along which the part has extent 1.
  Value moved(Value value, Op slice, int64_t extent, bool drops) {
    for (const Op reshape : way_.reshapes) {
      const size_t axis = *first_axis_of(reshape.out(0).dims(), outputs());
      const int64_t of_axis = reshape.out(0).dims()[axis];
      const bool is_last = reshape == way_.reshapes.back();
      auto dims = get<std::vector<int64_t>>(reshape.attributes(), "dims");
      dims[axis] = of_axis * extent / way_.extent;
      if (is_last && drops) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
      std::vector<Value> operands = reshape.operands();
      operands[0] = value;
      Attributes attributes = reshape.attributes();
      attributes.insert_or_assign("dims", dims);
      value = insert_before(model_.graph, slice, reshape.info(), std::move(operands), std::move(attributes)).out(0);
    }
    if (!way_.transpose) return value;
    auto perm = ops::Transpose(way_.transpose.node()).perm();
    if (drops) {
      const auto axis = static_cast<int64_t>(way_.axis);
      std::erase(perm, axis);
      for (int64_t& each : perm) each -= each > axis ? 1 : 0;
    }
    return insert_before(model_.graph, slice, way_.transpose.info(), {value}, {{"perm", perm}}).out(0);
  }

  Model& model_;
  Op layer_;
  const Way& way_;
};

template <class Layer>
void split_all(Model& model) {
  for (const Op layer : model.graph.all<Layer>()) {
    if (!has_rows(layer)) continue;
    if (const auto way = way_of(layer)) Split(model, layer, *way).run();
  }
}

}  // namespace

void split_layers(Model& model) { split_all<ops::Linear>(model); }
void split_code_layers(Model& model) { split_all<ops::IntegerLinear>(model); }

}  // namespace halfstep::passes
