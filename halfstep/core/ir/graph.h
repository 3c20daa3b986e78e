// The IR: values with complete types, operations with named operands, blocks and regions.
//
// Value, Op are light handles to nodes that their Graph owns. Names are identity: an operation has a unique name, its
// first output is the value of that name, every other output is NAME.PORT. Tensors (parameters, state, constants) are
// values that no operation produces; their contents live in the Model.
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

enum class Role { parameter, state, constant };
std::string_view name(Role role);

namespace detail {
struct OpNode;
struct Use {
  OpNode* op;
  int operand;  ///< flat position
};
struct ValueNode {
  std::string name;
  Type type;
  OpNode* producer = nullptr;  ///< null for arguments and tensors
  int port = 0;
  std::optional<Role> role;  ///< set for tensors
  Block* owner = nullptr;    ///< the block whose argument it is
  std::vector<Use> uses;
  int updates = 0;  ///< uses as a port whose next value the operation gives
};
struct OpNode {
  const OpInfo* info = nullptr;
  std::string name;
  std::vector<ValueNode*> operands;  ///< one per port, null when absent; a variadic port takes all further places
  std::vector<ValueNode*> results;   ///< one per output port, null when not produced
  Attributes attributes;
  std::vector<std::unique_ptr<Block>> regions;
  Location location;
  Block* block = nullptr;
  std::list<OpNode*>::iterator place = {};  ///< in the list of its block
};
}  // namespace detail

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
  /// A null Op for arguments and tensors.
  Op producer() const;
  /// The producing operation as a generated view; nothing when another operator produced it, or it is not its first
  /// output.
  template <class View>
  std::optional<View> producer() const;
  /// Output port of the producer.
  int port() const { return node_->port; }
  /// Where it is an argument or is produced; null for tensors.
  Block* block() const { return node_->producer != nullptr ? node_->producer->block : node_->owner; }

  /// Places that read it, outputs of the graph included (their op is the `return`).
  std::vector<std::pair<Op, int>> uses() const;
  bool has_one_use() const { return node_->uses.size() == 1; }
  bool unused() const { return node_->uses.empty(); }
  /// All of them, by one of the same type. An operation that produces `other` from this value is given it again.
  void replace_all_uses_with(Value other) const;

  detail::ValueNode* node() const { return node_; }

 private:
  detail::ValueNode* node_ = nullptr;
};

class Op {
 public:
  Op() = default;
  explicit Op(detail::OpNode* node) : node_(node) {}
  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const Op&) const = default;

  const OpInfo& info() const { return *node_->info; }
  /// Whether it is an application of one of these operators; false for a null Op.
  template <class... Views>
  bool is() const {
    return node_ != nullptr && ((node_->info == &Views::record()) || ...);
  }
  const std::string& name() const { return node_->name; }
  const Location& location() const { return node_->location; }
  const Attributes& attributes() const { return node_->attributes; }
  /// "digits.ir:12: node 'conv_3'", for messages; "digits.ir:12: while 'loop': node 'conv_3'" in a region.
  std::string where() const;

  /// Value at an input port; null when absent. Not for the variadic port.
  Value in(int port) const { return Value(node_->operands[static_cast<size_t>(port)]); }
  /// Values of the variadic port.
  std::vector<Value> variadic() const;
  /// All operands by flat position, absent ones as null values.
  std::vector<Value> operands() const;
  /// Input port of a flat position.
  int port_of(int operand) const;
  /// Value at an output port; null when not produced.
  Value out(int port) const {
    const auto at = static_cast<size_t>(port);
    return at < node_->results.size() ? Value(node_->results[at]) : Value();  // regions may give nothing
  }
  /// The values that are produced, in port order.
  std::vector<Value> results() const;

  void set_operand(int operand, Value value) const;
  /// Checks the new attributes, produces or drops outputs as presence rules say, infers types again. Dropped outputs
  /// must be unused.
  void set_attributes(const Attributes& changed) const;
  /// Types of the results from the operands as they now are, those inside its regions first; throws with the rule's
  /// label.
  void infer() const;
  /// Once its regions are filled: the results that they give are there then. Throws where a region does not take or
  /// give what it has to.
  void close_regions() const;
  /// One more value of the variadic port.
  void add_operand(Value value) const;

  const std::vector<std::unique_ptr<Block>>& regions() const { return node_->regions; }
  detail::OpNode* node() const { return node_; }

 protected:
  detail::OpNode* node_ = nullptr;
};

/// An attribute that an operation is built with; refers to its value. Nothing is inline: every operator's function that
/// builds it makes some.
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

/// What an operation is built from. `operands` by flat position; see detail::OpNode.
struct OpSpec {
  const OpInfo* info;
  std::vector<Value> operands;
  Attributes attributes;
  std::string name;  ///< a hint: made unique; empty takes the operator's name
  Location location;
};

class Block {
 public:
  Block(Graph* graph, detail::OpNode* parent) : graph_(graph), parent_(parent) {}
  const std::vector<Value>& arguments() const { return arguments_; }
  /// Snapshot in order, without the return and the `first` operations.
  std::vector<Op> ops(size_t first = 0) const;
  /// The operation behind `op`, the first one for a null `op`; null where there is none.
  Op next(Op op) const;
  /// Operations, without the return.
  size_t size() const { return ops_.size(); }
  /// The operation that reads the outputs; null until they are set.
  Op return_op() const { return Op(return_.get()); }
  /// Operands of the return, with their names.
  std::vector<Value> outputs() const;
  /// Whether the value is one of them.
  bool returns(Value value) const;
  const std::vector<std::string>& output_names() const { return output_names_; }
  bool has_output(std::string_view name) const { return named_outputs_.contains(name); }
  void set_outputs(std::vector<Value> values, std::vector<std::string> names = {});
  Value add_argument(std::string name, Type type);
  Op parent() const { return Op(parent_); }
  Graph& graph() const { return *graph_; }
  /// Operations of one kind, in order; without those in regions.
  template <class View>
  std::vector<View> all() const;

 private:
  friend class Graph;
  friend class GraphCopier;
  Graph* graph_;
  detail::OpNode* parent_;
  std::vector<Value> arguments_;
  std::list<detail::OpNode*> ops_;  ///< operations come and go everywhere
  std::unique_ptr<detail::OpNode> return_;
  std::vector<std::string> output_names_;
  std::set<std::string, std::less<>> named_outputs_;  ///< the same
};

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

  // The body's, for short.
  const std::vector<Value>& arguments() const { return body_->arguments(); }
  std::vector<Op> ops() const { return body_->ops(); }
  /// Those in regions too, each region's behind the operation that holds it.
  std::vector<Op> all_ops() const;
  std::vector<Value> outputs() const { return body_->outputs(); }
  void set_outputs(std::vector<Value> values, std::vector<std::string> names = {}) {
    body_->set_outputs(std::move(values), std::move(names));
  }
  Value add_argument(std::string name, Type type) { return body_->add_argument(std::move(name), std::move(type)); }

  /// Declares a tensor; throws when the name is taken.
  Value add_tensor(const std::string& name, Type type, Role role);
  /// A null value when there is none.
  Value tensor(std::string_view name) const;
  /// In name order.
  std::vector<Value> tensors() const;
  /// The tensor must be unused.
  void erase_tensor(std::string_view name);
  void set_type(Value tensor_or_argument, Type type);

  /// The value of that name among arguments and results; null when there is none.
  Value value(std::string_view name) const;
  Op op(std::string_view name) const;

  /// Appends to `block` (the body when null), or inserts before `before`. Checks every rule; throws Error.
  Op insert(OpSpec spec, Block* block = nullptr, Op before = {});
  /// Its results must be unused.
  void erase(Op op);
  /// To the end of another block. What it reads, and what reads it, must be visible there when all is done.
  void move(Op op, Block& to);
  /// Changes the identity of an operation (and its results' names); throws when the name is taken.
  void rename(Op op, const std::string& name);
  /// The same for an argument.
  void rename(Value argument, const std::string& name);
  Block& add_region(Op op);
  /// The body becomes a region and the region the body: for in_each_block, which exchanges them back.
  void exchange_body(Op holder, size_t region);

  /// `hint`, or `hint.2`, `hint.3`, ... when taken, by the name of an output too.
  std::string unique_name(const std::string& hint) const;

  /// Operations of one kind, those in regions too, in the order of all_ops.
  template <class View>
  std::vector<View> all() const;

 private:
  friend class Op;
  friend class Block;
  friend class GraphCopier;
  detail::ValueNode* new_value(std::string name, Type type);
  /// Results that the presence rules ask for are there afterwards, with these types by port, and no others.
  void make_results(detail::OpNode& node, const std::vector<Type>& types);

  /// Every block points to this graph; needed when the contents of another one moved in.
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

/// Inserts operations at one place; the generated builder functions take it.
class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(&graph), block_(&graph.body()) {}
  static Builder before(Graph& graph, Op op);
  Graph& graph() const { return *graph_; }
  /// Location given to what is built next.
  Builder& at(Location location);
  Op insert(OpSpec spec);
  /// The same of its parts; `rest` are operands of the variadic port.
  Op insert(const OpInfo& info, std::initializer_list<Value> operands, std::initializer_list<GivenAttribute> attributes,
            const std::string& name, const std::vector<Value>& rest = {});

 private:
  Graph* graph_;
  Block* block_;
  Op before_;
  Location location_;
};

/// Same structure, names, types, attributes and output names; source locations do not count.
bool operator==(const Graph& a, const Graph& b);

}  // namespace halfstep
