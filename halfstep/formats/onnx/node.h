// A node of an ONNX graph as the functions that translate it see it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/base/attribute.h"
#include "halfstep/ir/op_info.h"
#include "onnx.pb.h"

namespace halfstep::formats::onnx {

/// Attributes of a call by name, for nodes of a function that refer to them.
using AttributeValues = std::map<std::string, const proto::NodeAttribute*, std::less<>>;

class Node {
 public:
  /// `version` is that of the node's domain. What refers to an attribute of the function around is looked up in
  /// `outer`; throws where it is not there and not optional.
  Node(const proto::Node& node, int64_t version, std::string where, const AttributeValues& outer);

  const std::string& op() const { return node_->op_type(); }
  const std::string& domain() const { return domain_; }
  int64_t version() const { return version_; }
  /// "model.onnx: node 'conv_3': Conv"
  const std::string& where() const { return where_; }
  /// The node's name, or that of its first output.
  const std::string& name() const;

  size_t inputs() const { return static_cast<size_t>(node_->input_size()); }
  size_t outputs() const { return static_cast<size_t>(node_->output_size()); }
  /// "" for an input that is left out.
  const std::string& input(size_t i) const;
  const std::string& output(size_t i) const;
  bool has_input(size_t i) const { return !input(i).empty(); }
  bool has_output(size_t i) const { return !output(i).empty(); }

  /// nullptr when it is not there. From then on it counts as read.
  const proto::NodeAttribute* attribute(std::string_view name) const;
  /// An attribute that nobody has read, of this node or of one made from it, and that says something; nullptr for none.
  const proto::NodeAttribute* unread() const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, const std::string& otherwise) const;
  std::optional<std::vector<int64_t>> integers(std::string_view name) const;
  const AttributeValues& attributes() const { return attributes_; }

  /// The same node as if it had this attribute too, or another value of it, or (without a value) none.
  Node with(const std::string& name, std::vector<int64_t> values) const;
  Node with(const std::string& name, int64_t value) const;
  Node without(std::string_view name) const;
  Node with_version(int64_t version) const;

 private:
  const proto::Node* node_;
  std::string domain_;
  int64_t version_;
  std::string where_;
  AttributeValues attributes_;
  std::shared_ptr<std::set<std::string, std::less<>>> read_ = std::make_shared<std::set<std::string, std::less<>>>();
  std::map<std::string, std::shared_ptr<const proto::NodeAttribute>> made_;  ///< those that `with` added
};

/// "3", "[1, 2]", "'same_upper'", "a tensor": for messages.
std::string to_text(const proto::NodeAttribute& attribute);

/// The value as `ours` wants it: a number as a bool or as the name of an element type, a word in the spelling of our
/// choices, one number as a list. Throws `unsupported` where it cannot be one; `where` starts the message.
Attribute as_ours(const proto::NodeAttribute& attribute, const AttributeInfo& ours, const std::string& where);

/// Whether it says nothing: it has the value that every ONNX operator with such an attribute takes without it.
bool is_neutral(const proto::NodeAttribute& attribute);

}  // namespace halfstep::formats::onnx
