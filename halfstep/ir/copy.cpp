// Deep copies of a graph.
#include <unordered_map>

#include "halfstep/ir/detail.h"

namespace halfstep {

/// Makes all nodes first and connects them afterwards, so that any graph can be copied, in whatever order its uses are.
class GraphCopier {
 public:
  explicit GraphCopier(Graph& to) : to_(to) {}

  void copy(const Graph& from) {
    for (const Value tensor : from.tensors())
      values_.emplace(tensor.node(), to_.add_tensor(tensor.name(), tensor.type(), tensor.role()).node());
    make_nodes(from.body(), to_.body());
    for (const auto& [old_node, new_node] : ops_) {
      for (size_t i = 0; i < old_node->operands.size(); ++i) {
        new_node->operands.push_back(mapped(old_node->operands[i]));
        detail::add_use(new_node->operands.back(), new_node, static_cast<int>(i));
      }
    }
    for (const auto& [old_block, new_block] : blocks_) {
      std::vector<Value> outputs;
      for (const Value output : old_block->outputs()) outputs.emplace_back(mapped(output.node()));
      new_block->set_outputs(std::move(outputs), old_block->output_names());
    }
  }

 private:
  detail::ValueNode* mapped(detail::ValueNode* node) const { return node == nullptr ? nullptr : values_.at(node); }

  void make_nodes(const Block& from, Block& to) {
    blocks_.emplace_back(&from, &to);
    for (const Value argument : from.arguments())
      values_.emplace(argument.node(), to.add_argument(argument.name(), argument.type()).node());
    for (const Op op : from.ops()) make_op(*op.node(), to);
  }

  void make_op(const detail::OpNode& from, Block& block) {
    detail::OpNode* node = to_.nodes_.emplace_back(std::make_unique<detail::OpNode>()).get();
    node->info = from.info;
    node->name = from.name;
    node->attributes = from.attributes;
    node->location = from.location;
    node->block = &block;
    to_.op_names_.emplace(node->name, node);
    block.ops_.push_back(node);
    std::vector<Type> types;
    for (const detail::ValueNode* result : from.results) types.push_back(result == nullptr ? Type{} : result->type);
    to_.make_results(*node, types);
    for (size_t port = 0; port < from.results.size(); ++port) values_.emplace(from.results[port], node->results[port]);
    ops_.emplace_back(&from, node);
    for (const auto& region : from.regions) make_nodes(*region, to_.add_region(Op(node)));
  }

  Graph& to_;
  std::unordered_map<const detail::ValueNode*, detail::ValueNode*> values_;
  std::vector<std::pair<const detail::OpNode*, detail::OpNode*>> ops_;
  std::vector<std::pair<const Block*, Block*>> blocks_;
};

Graph::Graph(const Graph& other) : Graph(other.name_) { GraphCopier(*this).copy(other); }

Graph& Graph::operator=(const Graph& other) {
  if (this != &other) *this = Graph(other);
  return *this;
}

}  // namespace halfstep
