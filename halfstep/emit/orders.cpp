#include "halfstep/emit/orders.h"

#include <functional>
#include <map>

#include "halfstep/ir/ops.h"

namespace halfstep::emit {
namespace {

using Node = const detail::ValueNode*;

constexpr size_t kImageRank = 4;

/// Values that must have the same order.
class Groups {
 public:
  void join(Node a, Node b) { parents_[root(a)] = root(b); }
  Node root(Node node) {
    const auto found = parents_.find(node);
    if (found == parents_.end() || found->second == node) return node;
    return found->second = root(found->second);
  }

 private:
  std::map<Node, Node> parents_;
};

bool is_window(Op op) {
  return op
      .is<ops::IntegerConv2d, ops::IntegerAvgPool2d, ops::MaxPool2d, ops::Conv2d, ops::AvgPool2d, ops::GlobalAvgPool>();
}
bool may_be_image(Value value) { return value && !value.is_tensor() && value.dims().size() == kImageRank; }

}  // namespace

std::set<Node> images(const Graph& graph) {
  Groups groups;
  std::vector<Node> windows;
  for (Op op : graph.ops()) {
    std::vector<Value> values;
    for (const Value operand : op.operands()) {
      if (may_be_image(operand)) values.push_back(operand);
    }
    for (const Value result : op.results()) {
      if (may_be_image(result)) values.push_back(result);
    }
    if (op.is<ops::Transpose, ops::Reshape>()) continue;
    for (const Value value : values) {
      if (!is_window(op)) groups.join(value.node(), values.front().node());
      if (is_window(op)) windows.push_back(value.node());
    }
  }
  std::set<Node> roots, found;
  for (const Node node : windows) roots.insert(groups.root(node));
  for (Op op : graph.ops()) {
    for (const std::vector<Value>& values : {op.operands(), op.results()}) {
      for (const Value value : values) {
        if (may_be_image(value) && roots.contains(groups.root(value.node()))) found.insert(value.node());
      }
    }
  }
  return found;
}

Dims stored_dims(const Dims& dims, bool is_image) { return is_image ? Dims{dims[0], dims[2], dims[3], dims[1]} : dims; }

std::vector<int64_t> stored_places(const Dims& dims, bool is_image) {
  std::vector<int64_t> places(static_cast<size_t>(count_elements(dims)));
  const int64_t channels = is_image ? dims[1] : 1, plane = is_image ? dims[2] * dims[3] : 1;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    places[i] =
        is_image ? (index / (channels * plane) * plane + index % plane) * channels + index / plane % channels : index;
  }
  return places;
}

}  // namespace halfstep::emit
