// Format-independent interface of a node of a foreign graph.
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

  /// Unique in the file, unless the file repeats names.
  virtual const std::string& name() const = 0;
  /// The operator, with its domain if it is not the default domain of the format.
  virtual std::string title() const = 0;
  /// "model.onnx: node 'conv_3': Conv"
  virtual const std::string& where() const = 0;
  /// The line of the user's program that made the node, if the file records it.
  virtual Location source() const { return {}; }

  /// Returns the attribute `theirs` in the type of `ours`: a number as a bool or as the name of an element type, a word
  /// in Halfstep's spelling, one number as a list. Returns nothing if it is absent. Throws `unsupported` if conversion
  /// is not possible. Marks the attribute as read.
  virtual std::optional<Attribute> attribute_as(const AttributeInfo& ours, const std::string& theirs) const = 0;
  /// Returns "axis = 3" for an attribute outside of `taken` that has an effect, or "". Marks all attributes as read.
  virtual std::string left_over(const Names& taken) const = 0;
};

}  // namespace halfstep::formats
