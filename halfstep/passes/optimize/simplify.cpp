#include "halfstep/passes/optimize/simplify.h"

#include <algorithm>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

using Axes = std::vector<int64_t>;

Axes inverse(const Axes& axes) {
  Axes result(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) result[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
  return result;
}

/// Returns the permutation of a transpose or of its inverse: output axis i is input axis [i]. Returns nothing for other
/// operations.
std::optional<Axes> permutation(Op op) {
  if (op.is<ops::Transpose>()) return ops::Transpose(op.node()).perm();
  if (op.is<ops::TransposeBack>()) return inverse(ops::TransposeBack(op.node()).perm());
  return std::nullopt;
}

/// Counts unknown extents on both sides, except those that a reshape keeps.
int64_t count_open(Op op) {
  const Dims& dims = op.out(0).dims();
  const Dims asked = op.is<ops::Reshape>() ? ops::Reshape(op.node()).dims() : Dims(dims.size(), kUnknown);
  int64_t count = 0;
  for (size_t i = 0; i < dims.size(); ++i) count += dims[i] == kUnknown && asked[i] != 0;
  return count;
}

/// Equal types and the same elements on both sides imply equal extents: at most one is unknown, and the element count
/// determines it unless it is 0.
bool keeps_extents(Op op) {
  const Value from = op.in(0), to = op.out(0);
  const int64_t open = from.type() == to.type() ? count_open(op) : 2;
  return open == 0 || (open == 1 && std::ranges::count(to.dims(), 0) == 0);
}

/// Whether the result is the first operand, element for element.
bool changes_nothing(Op op) {
  if (op.is<ops::Reshape, ops::ReshapeLike, ops::Flatten>()) return keeps_extents(op);
  if (op.is<ops::SumTo>()) return op.in(0).type() == op.out(0).type() && op.out(0).type().is_static();
  const std::optional<Axes> axes = permutation(op);
  return axes && std::ranges::is_sorted(*axes);
}

/// Makes `op` read the input of `before`, and removes `before` if nothing else reads it.
void read_before(Graph& graph, Op op, int port, Op before) {
  op.set_operand(port, before.in(0));
  if (before.out(0).unused() && !is_output(before.out(0))) graph.erase(before);
}

/// Merges a transpose of a transpose.
void join_transposes(Graph& graph, Op op) {
  const std::optional<Axes> outer = permutation(op);
  const Op before = outer ? op.in(0).producer() : Op();
  const std::optional<Axes> inner = before ? permutation(before) : std::nullopt;
  if (!inner) return;
  Axes joined;
  for (const int64_t axis : *outer) joined.push_back((*inner)[static_cast<size_t>(axis)]);
  read_before(graph, op, 0, before);
  op.set_attributes({{"perm", op.is<ops::Transpose>() ? joined : inverse(joined)}});
}

/// Merges a reshape of a reshape if the second one names all its extents.
void join_reshapes(Graph& graph, Op op) {
  const auto before = op.is<ops::Reshape>() ? op.in(0).producer<ops::Reshape>() : std::nullopt;
  if (!before || std::ranges::count(ops::Reshape(op.node()).dims(), 0) != 0) return;
  read_before(graph, op, 0, *before);
}

/// Whether the permutation exchanges exactly the last two axes.
bool swaps_last_axes(const Axes& axes) {
  Axes swapped = axes;
  if (swapped.size() >= 2) std::swap(swapped.back(), swapped[swapped.size() - 2]);
  return swapped != axes && std::ranges::is_sorted(swapped);
}

/// Makes a matrix product read the input of a transpose that exchanges its last two axes.
template <class Product>
void read_through(Graph& graph, Product product) {
  Attributes attributes = product.attributes();
  const auto through = [&](const char* operand, const char* flag, bool is_transposed) {
    const int port = product.info().input(operand);
    const Op before = product.in(port).producer();
    const std::optional<Axes> axes = before ? permutation(before) : std::nullopt;
    if (!axes || !swaps_last_axes(*axes)) return;
    read_before(graph, product, port, before);
    attributes.insert_or_assign(flag, !is_transposed);
  };
  through("a", "transpose_a", product.transpose_a());
  through("b", "transpose_b", product.transpose_b());
  product.set_attributes(std::move(attributes));
}

void simplify_in(Graph& graph, const Block& block) {
  for (const Op op : block.ops()) {
    for (const auto& region : op.regions()) simplify_in(graph, *region);
    join_transposes(graph, op);
    join_reshapes(graph, op);
    if (op.is<ops::Matmul>()) read_through(graph, ops::Matmul(op.node()));
    if (op.is<ops::IntegerMatmul>()) read_through(graph, ops::IntegerMatmul(op.node()));
    if (!changes_nothing(op) || is_output(op.out(0))) continue;
    op.out(0).replace_all_uses_with(op.in(0));
    graph.erase(op);
  }
}

}  // namespace

void simplify(Graph& graph) { simplify_in(graph, graph.body()); }

}  // namespace halfstep::passes
