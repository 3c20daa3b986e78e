// An operator of a Paddle program as the functions that translate it see it.
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

/// An input or output: a ProgramDesc names its slots, PIR numbers them.
struct Port {
  std::string_view slot;
  size_t position;
};

class Node : public formats::Node {
 public:
  Node(const Operator& op, const std::string& format, const std::string& file);

  /// The operator as the file calls it, and as PIR does.
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

  /// nullptr where there is no such slot, or nothing in it. From then on an input counts as read.
  const Slot* input(const Port& port) const;
  const Slot* output(const Port& port) const;
  /// An input that holds something and that nobody has read; "" for none.
  std::string unread_input() const;

  /// nullptr where it is not there. From then on it counts as read.
  const Attribute* attribute(std::string_view name) const;
  /// Throw where it is of another type.
  int64_t integer(std::string_view name, int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  bool flag(std::string_view name, bool otherwise) const;
  std::string text(std::string_view name, const std::string& otherwise) const;
  std::vector<int64_t> integers(std::string_view name) const;  ///< none where it is not there
  /// The attributes that nobody has read, as left_over writes them.
  std::string unread() const { return left_over(*read_); }

  std::optional<Attribute> attribute_as(const AttributeInfo& ours, const std::string& theirs) const override;
  std::string left_over(const Names& taken) const override;

  /// The same node as if it had this attribute, or none of that name.
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

/// What an attribute says of an element type: its number in a ProgramDesc, our name for it in PIR. Throws
/// `unsupported`.
DType dtype_of(const Node& node, std::string_view attribute);

/// The whole numbers of a value of any kind that is some; `where` starts the message.
std::vector<int64_t> integers_of(const Attribute& value, const std::string& where);
std::vector<double> numbers_of(const Attribute& value, const std::string& where);

}  // namespace halfstep::formats::paddle
