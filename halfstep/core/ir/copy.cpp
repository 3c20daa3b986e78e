// Deep copies of a graph, and conversion of a region to a separate graph.
#include <unordered_map>

#include "halfstep/core/ir/detail.h"
#include "halfstep/core/ir/region.h"

namespace halfstep {

/// Creates all nodes first and connects them afterwards. This works for any graph, in any order of uses.
class GraphCopier {
 public:
  explicit GraphCopier(Graph& to) : to_(to) {}

  void copy(const Graph& from) {
    for (const Value tensor : from.tensors()) mapped(tensor.node());
    make_nodes(from.body(), to_.body());
    connect();
    copy_outputs();
  }

  void copy_region(const Block& from) {
    make_nodes(from, to_.body());
    connect();
    const std::vector<std::string> numbers = numbered(from.outputs().size());
    blocks_.erase(blocks_.begin());
    copy_outputs();
    to_.set_outputs(mapped(from.outputs()), numbers);
  }

  void copy_into_region(const Graph& from, Op holder, const std::function<Value(Value tensor)>& tensor_of) {
    tensor_of_ = tensor_of;
    make_nodes(from.body(), to_.add_region(holder));
    connect();
    copy_outputs();
  }

  void copy_into(const Block& from, Block& to, const std::function<Value(Value)>& stand_in,
                 const std::vector<Value>& outputs) {
    tensor_of_ = stand_in;
    for (const Value argument : from.arguments()) values_.emplace(argument.node(), stand_in(argument).node());
    for (const Op op : from.ops()) make_op(*op.node(), to);
    connect();
    copy_outputs();
    to.set_outputs(mapped(outputs));
  }

 private:
  void connect() {
    for (const auto& [old_node, new_node] : ops_) {
      for (size_t i = 0; i < old_node->operands.size(); ++i) {
        new_node->operands.push_back(mapped(old_node->operands[i]));
        detail::add_use(new_node->operands.back(), new_node, static_cast<int>(i));
      }
    }
  }

  void copy_outputs() {
    for (const auto& [old_block, new_block] : blocks_)
      new_block->set_outputs(mapped(old_block->outputs()), old_block->output_names());
  }

  /// Copies a tensor when an operation reads it.
  detail::ValueNode* mapped(detail::ValueNode* node) {
    if (node == nullptr) return nullptr;
    detail::ValueNode*& made = values_[node];
    if (made == nullptr) {
      HS_CHECK(node->role);
      made = tensor_of_ ? tensor_of_(Value(node)).node() : to_.add_tensor(node->name, node->type, *node->role).node();
    }
    return made;
  }

  std::vector<Value> mapped(const std::vector<Value>& values) {
    std::vector<Value> made;
    for (const Value value : values) made.emplace_back(mapped(value.node()));
    return made;
  }

  static std::vector<std::string> numbered(size_t count) {
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
    return names;
  }

  void make_nodes(const Block& from, Block& to) {
    blocks_.emplace_back(&from, &to);
    for (const Value argument : from.arguments())
      values_.emplace(argument.node(), to.add_argument(to_.unique_name(argument.name()), argument.type()).node());
    for (const Op op : from.ops()) make_op(*op.node(), to);
  }

  void make_op(const detail::OpNode& from, Block& block) {
    detail::OpNode* node = to_.nodes_.emplace_back(std::make_unique<detail::OpNode>()).get();
    node->info = from.info;
    node->name = detail::free_name(to_, *from.info, from.name);
    node->attributes = from.attributes;
    node->location = from.location;
    node->block = &block;
    to_.op_names_.emplace(node->name, node);
    node->place = block.ops_.insert(block.ops_.end(), node);
    std::vector<Type> types;
    for (const detail::ValueNode* result : from.results) types.push_back(result == nullptr ? Type{} : result->type);
    to_.make_results(*node, types);
    for (size_t port = 0; port < from.results.size(); ++port) values_.emplace(from.results[port], node->results[port]);
    ops_.emplace_back(&from, node);
    for (const auto& region : from.regions) make_nodes(*region, to_.add_region(Op(node)));
  }

  Graph& to_;
  std::function<Value(Value tensor)> tensor_of_;
  std::unordered_map<const detail::ValueNode*, detail::ValueNode*> values_;
  std::vector<std::pair<const detail::OpNode*, detail::OpNode*>> ops_;
  std::vector<std::pair<const Block*, Block*>> blocks_;
};

Graph::Graph(const Graph& other) : Graph(other.name_) { GraphCopier(*this).copy(other); }

Graph region_graph(const Block& region, std::string name) {
  Graph graph(std::move(name));
  GraphCopier(graph).copy_region(region);
  return graph;
}

void make_regions(Op to, const std::vector<Graph>& graphs, const std::function<Value(Value tensor)>& tensor_of) {
  for (const Graph& graph : graphs) GraphCopier(to.node()->block->graph()).copy_into_region(graph, to, tensor_of);
  to.close_regions();
}

void copy_into(const Block& from, Block& to, const std::function<Value(Value)>& stand_in,
               const std::vector<Value>& outputs) {
  GraphCopier(to.graph()).copy_into(from, to, stand_in, outputs);
}

Graph& Graph::operator=(const Graph& other) {
  if (this != &other) *this = Graph(other);
  return *this;
}

}  // namespace halfstep
