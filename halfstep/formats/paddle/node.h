// An operator of a Paddle program as seen by the translation functions.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/formats/builder/node.h"
#include "halfstep/formats/paddle/paddle_program.h"

namespace halfstep::formats::paddle {

/// An input or output. A ProgramDesc names its slots, PIR numbers them.
struct Port {
  std::string_view slot;
  size_t position;
};

class Node : public formats::Node {
 public:
  Node(const Operator& op, const std::string& format, const std::string& file);

  /// The operator's name in the file, and its name in PIR.
  const std::string& type() const { return op_->type; }
  const std::string& op() const { return plain_; }
  /// The format whose `foreign` entries of the records apply: "paddle" or "pir".
  const std::string& format() const { return *format_; }
  bool numbers_slots() const { return *format_ == "pir"; }

  /// The name of its first output.
  const std::string& name() const override { return name_; }
  std::string title() const override { return op_->type; }
  /// "model.pdmodel: node 'conv2d_0.tmp_0': conv2d"
  const std::string& where() const override { return where_; }

  const std::vector<Slot>& inputs() const { return op_->inputs; }
  const std::vector<Slot>& outputs() const { return op_->outputs; }
  const std::vector<size_t>& blocks() const { return op_->blocks; }

  /// Returns nullptr if there is no such slot, or if it is empty. Marks an input as read.
  const Slot* input(const Port& port) const;
  const Slot* output(const Port& port) const;
  /// Returns an input that is not empty and not read, or "".
  std::string unread_input() const;

  /// Returns nullptr if absent. Marks the attribute as read.
  const Attribute* attribute(std::string_view name) const;
  /// Throw if the attribute has another type.
  int64_t integer(std::string_view name, int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  bool flag(std::string_view name, bool otherwise) const;
  std::string text(std::string_view name, const std::string& otherwise) const;
  std::vector<int64_t> integers(std::string_view name) const;  ///< empty if absent
  /// Returns the unread attributes in the format of left_over.
  std::string unread() const { return left_over(*read_); }

  std::optional<Attribute> attribute_as(const AttributeInfo& ours, const std::string& theirs) const override;
  std::string left_over(const Names& taken) const override;

  /// Return the node with this attribute set or removed.
  Node with(const std::string& name, Attribute value) const;
  Node without(std::string_view name) const;

 private:
  const Slot* find(const std::vector<Slot>& slots, const Port& port) const;

  const Operator* op_;
  const std::string* format_;
  std::string plain_, name_, where_;
  std::shared_ptr<const Attributes> attributes_;
  std::shared_ptr<Names> read_ = std::make_shared<Names>();
  std::shared_ptr<std::set<const Slot*>> read_slots_ = std::make_shared<std::set<const Slot*>>();
};

/// Returns the element type of an attribute: its number in a ProgramDesc, or Halfstep's name for it in PIR. Throws
/// `unsupported`.
DType dtype_of(const Node& node, std::string_view attribute);

/// Return the numbers of any numeric attribute. `where` starts the message.
std::vector<int64_t> integers_of(const Attribute& value, const std::string& where);
std::vector<double> numbers_of(const Attribute& value, const std::string& where);

}  // namespace halfstep::formats::paddle
