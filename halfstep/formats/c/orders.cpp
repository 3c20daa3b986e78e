#include "halfstep/formats/c/orders.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>

#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::formats::c {
namespace {

using Node = const detail::ValueNode*;

constexpr size_t kImageRank = 4;

/// Groups of values that must have the same order.
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

/// Returns operands and results of an operation with regions, each paired with its value in a region.
std::vector<std::pair<Value, Value>> same_values(Op op) {
  const FlowParts parts(op);
  std::vector<std::pair<Value, Value>> pairs;
  const auto add = [&](Value outer, Value inner) {
    if (may_be_image(outer) && may_be_image(inner)) pairs.emplace_back(outer, inner);
  };
  for (const auto& region : op.regions()) {
    const std::vector<Value> outputs = region->outputs();
    for (size_t i = 0; i < parts.values(); ++i) {
      if (i < parts.states || i >= parts.states + parts.scanned)
        add(op.operands()[parts.first + i], region->arguments()[i]);
    }
    for (size_t i = parts.conditions; i < outputs.size(); ++i) {
      const size_t port = i - parts.conditions;
      add(op.out(static_cast<int>(port)), outputs[i]);
      if (port < parts.states) add(op.out(static_cast<int>(port)), region->arguments()[port]);
    }
  }
  return pairs;
}

}  // namespace

std::set<Node> images(const Graph& graph) {
  Groups groups;
  std::vector<Node> windows, all;
  for (Op op : graph.all_ops()) {
    std::vector<Value> values;
    for (const std::vector<Value>& ends : {op.operands(), op.results()})
      std::ranges::copy_if(ends, std::back_inserter(values), may_be_image);
    for (const Value value : values) all.push_back(value.node());
    if (op.info().flow != Flow::none) {
      for (const auto& [outer, inner] : same_values(op)) {
        all.push_back(inner.node());
        groups.join(outer.node(), inner.node());
      }
    } else if (is_window(op)) {
      for (const Value value : values) windows.push_back(value.node());
    } else if (!op.is<ops::Transpose, ops::Reshape>()) {
      for (const Value value : values) groups.join(value.node(), values.front().node());
    }
  }
  std::set<Node> roots, found;
  for (const Node node : windows) roots.insert(groups.root(node));
  for (const Node node : all) {
    if (roots.contains(groups.root(node))) found.insert(node);
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

}  // namespace halfstep::formats::c
