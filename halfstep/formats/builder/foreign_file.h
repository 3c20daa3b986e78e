// A file of another system: its summary, its coverage and its import.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/base/diagnostics/diagnostic.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::formats {

/// Runs one operator. Takes operands by flat position (undefined if absent), returns results by port.
using Evaluate =
    std::function<std::vector<Tensor>(const OpInfo&, const Attributes&, const std::vector<Tensor>& operands)>;

/// Information about inputs for the importer.
struct Binding {
  std::map<std::string, Dims> dims;      ///< for inputs with dynamic extents, others stay dynamic
  std::map<std::string, Tensor> values;  ///< inputs that extents, branches or iteration counts may depend on
  Evaluate evaluate;                     ///< if empty, nothing is computed
};

/// An input or output of a file.
struct Port {
  std::string name;
  std::string type;  ///< type in the notation of the file: "float32[batch, 3, 32, 32]", "sequence"
  Dims dims;         ///< kUnknown marks a dynamic extent
  bool is_tensor = false;
  bool has_default = false;  ///< an input for which the file has contents
};

struct Summary {
  std::string format;    ///< "onnx"
  std::string title;     ///< "ONNX file of pytorch 2.1, IR version 8, opset ai.onnx 13"
  std::string producer;  ///< name and version
  std::vector<std::pair<std::string, int64_t>> versions;  ///< versions of the file's parts: "ir_version"
  std::map<std::string, int64_t> opsets;                  ///< versions of operator sets, by domain
  std::map<std::string, int64_t> operators;               ///< number of nodes by operator, including nested graphs
  std::vector<Port> inputs, outputs;
  int64_t nodes = 0, parameters = 0, parameter_bytes = 0;
};

/// Nodes that cannot be translated for the same reason.
struct Issue {
  std::string op;              ///< with its domain if it is not the default domain of the format
  Diagnostic reason;           ///< unsupported type, attribute or form at the first of the nodes
  bool needs_values = false;   ///< supported if inputs are given: `run` can do it
  bool needs_extents = false;  ///< supported if extents are fixed
  std::vector<std::string> nodes;
  std::string nearest = {};  ///< description of the nearest supported form, or ""

  std::string what() const;    ///< Returns the reason without place and remedy.
  std::string remedy() const;  ///< Returns the remedy, which is never "".
};

struct Coverage {
  std::vector<Issue> issues;  ///< in order of appearance
  int64_t unchecked = 0;      ///< nodes after them, for which only the operator was looked up
  /// Whether all nodes are supported, except those that depend on values.
  bool complete() const;
};

/// A file whose format, limits and versions are checked.
class File {
 public:
  virtual ~File() = default;

  virtual Summary summary() const = 0;
  /// Returns all nodes that `import` would reject with this binding. Throws for a damaged file.
  virtual Coverage coverage(const Binding& binding) const = 0;
  /// Returns a verified Model. Arguments and outputs have the names in the file, values the names of the nodes'
  /// outputs, and locations name the node of the file. Throws Error. `unsupported` names node, operator and the
  /// unsupported part.
  virtual Model import(const Binding& binding) const = 0;
};

}  // namespace halfstep::formats
