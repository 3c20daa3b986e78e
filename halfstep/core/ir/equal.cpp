// Equality of graphs. Names are identity, so two graphs are equal if equal names have equal definitions.
#include <algorithm>

#include "halfstep/core/ir/detail.h"

namespace halfstep {
namespace {

template <class List, class Same>
bool all_equal(const List& a, const List& b, Same same) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

}  // namespace

namespace detail {

bool same(const Attribute& a, const Attribute& b) { return a.index() == b.index() && to_string(a) == to_string(b); }

bool same(const Attributes& a, const Attributes& b) {
  return all_equal(a, b, [](const auto& x, const auto& y) { return x.first == y.first && same(x.second, y.second); });
}

}  // namespace detail

namespace {

bool equal(const Block& a, const Block& b);

/// Whether both references are absent, or refer to the tensor or value of the same name.
bool same_reference(Value a, Value b) {
  if (!a || !b) return !a && !b;
  return a.name() == b.name() && a.is_tensor() == b.is_tensor();
}

bool same_value(Value a, Value b) {
  return same_reference(a, b) && (!a || (a.type() == b.type() && a.node()->role == b.node()->role));
}

bool same_result(detail::ValueNode* a, detail::ValueNode* b) { return same_value(Value(a), Value(b)); }

bool equal(const Op& a, const Op& b) {
  return &a.info() == &b.info() && a.name() == b.name() && detail::same(a.attributes(), b.attributes()) &&
         all_equal(a.operands(), b.operands(), same_reference) &&
         all_equal(a.node()->results, b.node()->results, same_result) &&
         all_equal(a.regions(), b.regions(), [](const auto& x, const auto& y) { return equal(*x, *y); });
}

bool equal(const Block& a, const Block& b) {
  return all_equal(a.arguments(), b.arguments(), same_value) &&
         all_equal(a.ops(), b.ops(), [](const Op& x, const Op& y) { return equal(x, y); }) &&
         all_equal(a.outputs(), b.outputs(), same_reference) && a.output_names() == b.output_names();
}

}  // namespace

bool operator==(const Graph& a, const Graph& b) {
  return a.name() == b.name() && all_equal(a.tensors(), b.tensors(), same_value) && equal(a.body(), b.body());
}

}  // namespace halfstep
