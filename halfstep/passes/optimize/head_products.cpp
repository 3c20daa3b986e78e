#include "halfstep/passes/optimize/head_products.h"

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

const std::vector<int64_t> kExchange = {0, 2, 1, 3};
/// Axis order of keys that are columns of a product's second factor.
const std::vector<int64_t> kExchangeToColumns = {0, 2, 3, 1};

/// Moves a transpose before a product with a number behind the product.
void move_behind(Graph& graph, ops::IntegerMul product) {
  const auto transpose = product.a().producer<ops::Transpose>();
  const bool is_number = product.b().type().is_static() && count_elements(product.b().dims()) == 1 &&
                         product.b().dims().size() <= product.a().dims().size();
  if (!transpose || !is_number || !only_reader(transpose->out()) || transpose->perm() != kExchange) return;
  const Op early = insert_before(graph, product, product.info(), {transpose->x(), product.b()}, product.attributes());
  replace(graph, product, insert_before(graph, product, transpose->info(), {early.out(0)}, transpose->attributes()));
}

class HeadProduct {
 public:
  HeadProduct(Graph& graph, ops::IntegerMatmul product)
      : graph_(graph), product_(product), attributes_(product.attributes()) {
    attributes_.erase("transpose_a");
  }

  void run() {
    const Value a = read(product_.a(), "a_by_rows", nullptr), b = read(product_.b(), "b_by_rows", "transpose_b");
    const Op behind = only_reader(product_.out());
    const bool moves_out = behind.is<ops::Transpose>() && ops::Transpose(behind.node()).perm() == kExchange;
    if (a == product_.a() && b == product_.b() && !moves_out) return;
    if (moves_out) attributes_.insert_or_assign("out_by_rows", true);
    const Op last = moves_out ? behind : Op(product_);
    replace(graph_, last, insert_before(graph_, last, ops::FusedIntegerMatmul::record(), {a, b}, attributes_));
    if (moves_out) graph_.erase(product_);
  }

 private:
  /// Returns the operand of the transpose that produces `operand`, or `operand` itself. `flag` names the attribute of a
  /// factor that may be columns.
  Value read(Value operand, const char* by_rows, const char* flag) {
    const auto transpose = operand.producer<ops::Transpose>();
    const bool turns = flag != nullptr && transpose && transpose->perm() == kExchangeToColumns;
    if (!transpose || (transpose->perm() != kExchange && !turns)) return operand;
    attributes_.insert_or_assign(by_rows, true);
    if (turns) attributes_.insert_or_assign(flag, !product_.transpose_b());
    return transpose->x();
  }

  Graph& graph_;
  ops::IntegerMatmul product_;
  Attributes attributes_;
};

}  // namespace

void head_products(Graph& graph) {
  for (const ops::IntegerMul product : graph.all<ops::IntegerMul>()) move_behind(graph, product);
  for (const ops::IntegerMatmul product : graph.all<ops::IntegerMatmul>()) {
    if (product.out().dims().size() == 4 && !product.transpose_a()) HeadProduct(graph, product).run();
  }
}

}  // namespace halfstep::passes
