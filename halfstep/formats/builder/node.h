// A node of a foreign graph, as far as it is the same for every importer.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/diagnostics/location.h"
#include "halfstep/core/ir/op_info.h"

namespace halfstep::formats {

using Names = std::set<std::string, std::less<>>;

class Node {
 public:
  virtual ~Node() = default;

  /// Never the same for two nodes of a file, unless the file says so.
  virtual const std::string& name() const = 0;
  /// The operator, with its domain where that is not the format's own.
  virtual std::string title() const = 0;
  /// "model.onnx: node 'conv_3': Conv"
  virtual const std::string& where() const = 0;
  /// The line of the user's program that it comes from, where the file says it.
  virtual Location source() const { return {}; }

  /// The attribute `theirs` as `ours` wants it: a number as a bool or as the name of an element type, a word in the
  /// spelling of our choices, one number as a list. Nothing where it is absent. Throws `unsupported` where it cannot be
  /// one. From then on it counts as read.
  virtual std::optional<Attribute> attribute_as(const AttributeInfo& ours, const std::string& theirs) const = 0;
  /// "axis = 3": an attribute that is none of `taken` and says something; "" for none. All count as read.
  virtual std::string left_over(const Names& taken) const = 0;
};

}  // namespace halfstep::formats
