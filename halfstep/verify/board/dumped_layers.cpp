#include "halfstep/verify/board/dumped_layers.h"

#include <fmt/format.h>

#include "halfstep/core/ir/text/parse.h"

namespace halfstep::board {
Layers::Layers(const Side& side) : side_(side) {
  if (!side.manifest.graph.empty()) graph_ = parse(side.manifest.graph, side.name, {.locations = false});
}

std::optional<Tensor> Layers::contents(Value operand, const std::vector<int64_t>& samples) const {
  const auto& entries = side_.manifest.entries;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    if (entry.name != operand.name()) continue;
    const Stored stored = side_.open(i);
    const ImageDims dims = ImageDims::of(entry.type.dims);
    const auto each = static_cast<size_t>(sample_bytes(dims, entry.type.dtype, entry.layout));
    if (each == 0 || stored.cells.size() % each != 0 || entry.type.dtype != operand.dtype()) return std::nullopt;
    if (!entry.is_activation()) {
      if (stored.cells.size() != each * static_cast<size_t>(dims.n)) return std::nullopt;
      return decode(stored.cells, entry.type.dtype, entry.type.dims, entry.layout).reshaped(operand.dims());
    }
    std::vector<std::byte> cells;
    for (const int64_t n : samples) {
      if (static_cast<size_t>(n + 1) * each > stored.cells.size()) return std::nullopt;
      const auto part = stored.cells.subspan(static_cast<size_t>(n) * each, each);
      cells.insert(cells.end(), part.begin(), part.end());
    }
    return decode(cells, entry.type.dtype, entry.type.dims, entry.layout);
  }
  return std::nullopt;
}

std::optional<Rerun> Layers::rerun(const std::string& value, const std::vector<int64_t>& samples,
                                   std::string& why) const {
  if (!graph_) {
    why = "neither side has the integer program, which is needed to recompute a layer";
    return std::nullopt;
  }
  const Value result = graph_->value(value);
  const Op op = result ? result.producer() : Op();
  if (!op || result.port() != 0 || samples.empty()) return std::nullopt;
  Rerun rerun{&op.info(), op.attributes(), {}};
  for (const Value operand : op.operands()) {
    if (!operand) {
      rerun.operands.emplace_back();
      continue;
    }
    const auto found = contents(operand, samples);
    if (!found) {
      why = fmt::format("the layer was not recomputed: the dump has no '{}', which the layer reads", operand.name());
      return std::nullopt;
    }
    rerun.operands.push_back(*found);
  }
  return rerun;
}

}  // namespace halfstep::board
