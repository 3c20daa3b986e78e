// The IR: values with complete types, operations with named operands, blocks and regions.
//
// Value and Op are light handles to nodes owned by their Graph. Names are identity: an operation has a unique name. Its
// first output has the same name, and any other output is NAME.PORT. Tensors (parameters, state, constants) are values
// without a producer. Their contents are in the Model.
#pragma once

#include <deque>
#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/diagnostics/location.h"
#include "halfstep/core/ir/op_info.h"

namespace halfstep {

class Op;
class Block;
class Graph;
class GraphCopier;

/// Role of a tensor: trained parameter, state updated by operations, or constant.
enum class Role { parameter, state, constant };
std::string_view name(Role role);

namespace detail {
struct OpNode;
struct Use {
  OpNode* op;
  int operand;  ///< flat position of the operand
};
struct ValueNode {
  std::string name;
  Type type;
  OpNode* producer = nullptr;  ///< null for arguments and tensors
  int port = 0;
  std::optional<Role> role;  ///< set for tensors
  Block* owner = nullptr;    ///< block of an argument
  std::vector<Use> uses;
  int updates = 0;  ///< uses at a port whose next value the using operation produces
};
struct OpNode {
  const OpInfo* info = nullptr;
  std::string name;
  std::vector<ValueNode*> operands;  ///< one per port, null when absent; a variadic port takes all further positions
  std::vector<ValueNode*> results;   ///< one per output port, null when not produced
  Attributes attributes;
  std::vector<std::unique_ptr<Block>> regions;
  Location location;
  Block* block = nullptr;
  std::list<OpNode*>::iterator place = {};  ///< position in the list of its block
};
}  // namespace detail

/// Handle to an argument, a result of an operation, or a tensor. A default-constructed Value is null.
class Value {
 public:
  Value() = default;
  explicit Value(detail::ValueNode* node) : node_(node) {}
  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const Value&) const = default;

  const std::string& name() const { return node_->name; }
  const Type& type() const { return node_->type; }
  const Dims& dims() const { return node_->type.dims; }
  DType dtype() const { return node_->type.dtype; }

  bool is_tensor() const { return node_->role.has_value(); }
  Role role() const { return *node_->role; }
  /// Returns the producing operation, or a null Op for arguments and tensors.
  Op producer() const;
  /// Returns the producing operation as a generated view. Returns nullopt if another operator produced the value, or if
  /// it is not the first output.
  template <class View>
  std::optional<View> producer() const;
  /// Output port of the producer that this value is.
  int port() const { return node_->port; }
  /// Block of the argument or of the producer. Null for tensors.
  Block* block() const { return node_->producer != nullptr ? node_->producer->block : node_->owner; }

  /// Returns all readers with operand positions. Outputs of the graph are included, with `return` as their op.
  std::vector<std::pair<Op, int>> uses() const;
  bool has_one_use() const { return node_->uses.size() == 1; }
  bool unused() const { return node_->uses.empty(); }
  /// Replaces all uses by `other`, of the same type. This includes the operand of an operation that produces `other`
  /// from this value, so set that operand again afterwards.
  void replace_all_uses_with(Value other) const;

  detail::ValueNode* node() const { return node_; }

 private:
  detail::ValueNode* node_ = nullptr;
};

/// Handle to an operation. A default-constructed Op is null.
class Op {
 public:
  Op() = default;
  explicit Op(detail::OpNode* node) : node_(node) {}
  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const Op&) const = default;

  const OpInfo& info() const { return *node_->info; }
  /// Whether the operator is one of these views. False for a null Op.
  template <class... Views>
  bool is() const {
    return node_ != nullptr && ((node_->info == &Views::record()) || ...);
  }
  const std::string& name() const { return node_->name; }
  const Location& location() const { return node_->location; }
  const Attributes& attributes() const { return node_->attributes; }
  /// Returns a location for messages: "digits.ir:12: node 'conv_3'". In a region: "digits.ir:12: while 'loop': node
  /// 'conv_3'".
  std::string where() const;

  /// Returns the value at an input port, null when absent. Not for the variadic port.
  Value in(int port) const { return Value(node_->operands[static_cast<size_t>(port)]); }
  /// Returns the values of the variadic port.
  std::vector<Value> variadic() const;
  /// Returns all operands by flat position, null where absent.
  std::vector<Value> operands() const;
  /// Returns the input port of a flat position.
  int port_of(int operand) const;
  /// Returns the value at an output port, null when not produced.
  Value out(int port) const {
    const auto at = static_cast<size_t>(port);
    // an operation with regions may have no results
    return at < node_->results.size() ? Value(node_->results[at]) : Value();
  }
  /// Returns the produced values, in port order.
  std::vector<Value> results() const;

  /// Connects another value to a flat position. Checks no rules; call infer() afterwards.
  void set_operand(int operand, Value value) const;
  /// Checks the new attributes, adds or removes outputs by the presence rules, and infers types again. Removed outputs
  /// must be unused.
  void set_attributes(const Attributes& changed) const;
  /// Infers the types of the results from the current operands, after those inside the regions. Throws with the label
  /// of a violated rule.
  void infer() const;
  /// Creates the results after the regions are filled. Throws if region arguments or outputs do not match.
  void close_regions() const;
  /// Appends a value to the variadic port.
  void add_operand(Value value) const;

  const std::vector<std::unique_ptr<Block>>& regions() const { return node_->regions; }
  detail::OpNode* node() const { return node_; }

 protected:
  detail::OpNode* node_ = nullptr;
};

/// An attribute for the construction of an operation. Refers to its value. No member is inline, because the builder
/// function of every operator creates some.
class GivenAttribute {
 public:
  GivenAttribute(std::string_view name, const bool& value);
  GivenAttribute(std::string_view name, const int64_t& value);
  GivenAttribute(std::string_view name, const double& value);
  GivenAttribute(std::string_view name, const std::string& value);
  GivenAttribute(std::string_view name, const std::vector<int64_t>& value);
  GivenAttribute(std::string_view name, const std::vector<double>& value);
  GivenAttribute(std::string_view name, const std::vector<std::string>& value);
  std::string_view name() const { return name_; }
  Attribute value() const;

 private:
  std::string_view name_;
  std::variant<const bool*, const int64_t*, const double*, const std::string*, const std::vector<int64_t>*,
               const std::vector<double>*, const std::vector<std::string>*>
      value_;
};

/// Parts of a new operation. `operands` are by flat position, see detail::OpNode.
struct OpSpec {
  const OpInfo* info;
  std::vector<Value> operands;
  Attributes attributes;
  std::string name;  ///< a hint, made unique; empty takes the operator's name
  Location location;
};

/// A sequence of operations with arguments and outputs: the body of a graph, or a region of an operation.
class Block {
 public:
  Block(Graph* graph, detail::OpNode* parent) : graph_(graph), parent_(parent) {}
  const std::vector<Value>& arguments() const { return arguments_; }
  /// Returns a snapshot of the operations in order, without the return and without the first `first` operations.
  std::vector<Op> ops(size_t first = 0) const;
  /// Returns the operation after `op`, or the first one for a null `op`. Null if there is none.
  Op next(Op op) const;
  /// Number of operations, without the return.
  size_t size() const { return ops_.size(); }
  /// Returns the operation that reads the outputs. Null until the outputs are set.
  Op return_op() const { return Op(return_.get()); }
  /// Returns the operands of the return. output_names has their names.
  std::vector<Value> outputs() const;
  /// Whether the value is an output.
  bool returns(Value value) const;
  const std::vector<std::string>& output_names() const { return output_names_; }
  bool has_output(std::string_view name) const { return named_outputs_.contains(name); }
  void set_outputs(std::vector<Value> values, std::vector<std::string> names = {});
  Value add_argument(std::string name, Type type);
  /// Returns the operation that holds the region, or a null Op for the body of a graph.
  Op parent() const { return Op(parent_); }
  Graph& graph() const { return *graph_; }
  /// Returns the operations of one kind in order, without those in regions.
  template <class View>
  std::vector<View> all() const;

 private:
  friend class Graph;
  friend class GraphCopier;
  Graph* graph_;
  detail::OpNode* parent_;
  std::vector<Value> arguments_;
  std::list<detail::OpNode*> ops_;  ///< a list, because operations are inserted and erased anywhere
  std::unique_ptr<detail::OpNode> return_;
  std::vector<std::string> output_names_;
  std::set<std::string, std::less<>> named_outputs_;  ///< output_names_, for lookup
};

/// A network: a body, tensors, and the nodes of all values and operations. Copies are deep.
class Graph {
 public:
  explicit Graph(std::string name = "graph");
  ~Graph();
  Graph(const Graph& other);
  Graph& operator=(const Graph& other);
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  Block& body() const { return *body_; }

  // Shortcuts to the body.
  const std::vector<Value>& arguments() const { return body_->arguments(); }
  std::vector<Op> ops() const { return body_->ops(); }
  /// Returns all operations, including those in regions. Operations of a region follow the operation that holds it.
  std::vector<Op> all_ops() const;
  std::vector<Value> outputs() const { return body_->outputs(); }
  void set_outputs(std::vector<Value> values, std::vector<std::string> names = {}) {
    body_->set_outputs(std::move(values), std::move(names));
  }
  Value add_argument(std::string name, Type type) { return body_->add_argument(std::move(name), std::move(type)); }

  /// Declares a tensor. Throws if the name is taken.
  Value add_tensor(const std::string& name, Type type, Role role);
  /// Returns the tensor with this name, or a null value.
  Value tensor(std::string_view name) const;
  /// Returns all tensors, sorted by name.
  std::vector<Value> tensors() const;
  /// Erases a tensor, which must be unused.
  void erase_tensor(std::string_view name);
  void set_type(Value tensor_or_argument, Type type);

  /// Returns the argument or result with this name, or a null value.
  Value value(std::string_view name) const;
  Op op(std::string_view name) const;

  /// Appends to `block` (null: the body), or inserts before `before`. Checks every rule and throws Error.
  Op insert(OpSpec spec, Block* block = nullptr, Op before = {});
  /// Erases an operation. Its results must be unused.
  void erase(Op op);
  /// Moves an operation to the end of another block. Its operands and readers must be visible there once all moves are
  /// done.
  void move(Op op, Block& to);
  /// Changes the name, and so the identity, of an operation and its results. Throws if the name is taken.
  void rename(Op op, const std::string& name);
  /// Renames an argument. Throws if the name is taken.
  void rename(Value argument, const std::string& name);
  Block& add_region(Op op);
  /// Exchanges the body and a region. in_each_block uses it, and exchanges them back.
  void exchange_body(Op holder, size_t region);

  /// Returns `hint`, or the first free name of `hint.2`, `hint.3`, ... Names of outputs count as taken.
  std::string unique_name(const std::string& hint) const;

  /// Returns the operations of one kind, including those in regions, in the order of all_ops.
  template <class View>
  std::vector<View> all() const;

 private:
  friend class Op;
  friend class Block;
  friend class GraphCopier;
  detail::ValueNode* new_value(std::string name, Type type);
  /// Creates or removes results so that exactly those of the presence rules exist, with these types by port.
  void make_results(detail::OpNode& node, const std::vector<Type>& types);

  /// Makes every block point to this graph. Needed after a move of another graph's contents.
  void own_blocks();

  std::string name_;
  std::unique_ptr<Block> body_;
  std::deque<std::unique_ptr<detail::ValueNode>> values_;
  std::deque<std::unique_ptr<detail::OpNode>> nodes_;
  std::map<std::string, detail::ValueNode*, std::less<>> tensors_;
  std::map<std::string, detail::ValueNode*, std::less<>> value_names_;
  std::map<std::string, detail::OpNode*, std::less<>> op_names_;
};

namespace detail {
template <class View>
std::vector<View> views(const std::vector<Op>& ops) {
  std::vector<View> found;
  for (Op op : ops) {
    if (op.is<View>()) found.push_back(View(op.node()));
  }
  return found;
}
}  // namespace detail

template <class View>
std::vector<View> Block::all() const {
  return detail::views<View>(ops());
}

template <class View>
std::vector<View> Graph::all() const {
  return detail::views<View>(all_ops());
}

template <class View>
std::optional<View> Value::producer() const {
  if (node_->producer == nullptr || node_->port != 0 || node_->producer->info != &View::record()) return std::nullopt;
  return View(node_->producer);
}

/// Inserts operations at one position. The generated builder functions take it.
class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(&graph), block_(&graph.body()) {}
  static Builder before(Graph& graph, Op op);
  Graph& graph() const { return *graph_; }
  /// Sets the location of the operations built next.
  Builder& at(Location location);
  Op insert(OpSpec spec);
  /// Inserts an operation given by its parts. `rest` are the operands of the variadic port.
  Op insert(const OpInfo& info, std::initializer_list<Value> operands, std::initializer_list<GivenAttribute> attributes,
            const std::string& name, const std::vector<Value>& rest = {});

 private:
  Graph* graph_;
  Block* block_;
  Op before_;
  Location location_;
};

/// Compares structure, names, types, attributes and output names. Source locations are ignored.
bool operator==(const Graph& a, const Graph& b);

}  // namespace halfstep
