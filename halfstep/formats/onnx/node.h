// A node of an ONNX graph as seen by the translation functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/formats/builder/node.h"
#include "onnx.pb.h"

namespace halfstep::formats::onnx {

/// Attributes of a call by name, for nodes of a function that refer to them.
using AttributeValues = std::map<std::string, const proto::NodeAttribute*, std::less<>>;

class Node : public formats::Node {
 public:
  /// `version` is the version of the node's domain. References to attributes of the enclosing function are looked up in
  /// `outer`. Throws if such an attribute is missing and not optional.
  Node(const proto::Node& node, int64_t version, std::string where, const AttributeValues& outer);

  const std::string& op() const { return node_->op_type(); }
  const std::string& domain() const { return domain_; }
  int64_t version() const { return version_; }
  /// "model.onnx: node 'conv_3': Conv"
  const std::string& where() const override { return where_; }
  /// The node's name, or the name of its first output.
  const std::string& name() const override;
  std::string title() const override;
  Location source() const override;
  /// Better names for its first output (module_names.h).
  std::vector<std::string> module_names() const;
  std::optional<Attribute> attribute_as(const AttributeInfo& ours, const std::string& theirs) const override;
  std::string left_over(const Names& taken) const override;

  size_t inputs() const { return static_cast<size_t>(node_->input_size()); }
  size_t outputs() const { return static_cast<size_t>(node_->output_size()); }
  /// Returns "" for an omitted input.
  const std::string& input(size_t i) const;
  const std::string& output(size_t i) const;
  bool has_input(size_t i) const { return !input(i).empty(); }
  bool has_output(size_t i) const { return !output(i).empty(); }

  /// Returns nullptr if absent. Marks the attribute as read.
  const proto::NodeAttribute* attribute(std::string_view name) const;
  /// Returns the unread attributes of this node, and of nodes derived from it, in the format of left_over.
  std::string unread() const { return left_over(*read_); }
  int64_t integer(std::string_view name, int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, const std::string& otherwise) const;
  std::optional<std::vector<int64_t>> integers(std::string_view name) const;
  const AttributeValues& attributes() const { return attributes_; }

  /// Returns the node with this attribute added or replaced, or removed (without a value).
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
  std::shared_ptr<Names> read_ = std::make_shared<Names>();
  std::map<std::string, std::shared_ptr<const proto::NodeAttribute>> made_;  ///< attributes added by `with`
};

/// Returns "3", "[1, 2]", "'same_upper'" or "a tensor", for messages.
std::string to_text(const proto::NodeAttribute& attribute);

/// Whether the attribute has no effect: it has the default value of every ONNX operator with this attribute.
bool is_neutral(const proto::NodeAttribute& attribute);

}  // namespace halfstep::formats::onnx
