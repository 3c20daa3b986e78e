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

/// Runs one operator: operands by flat position (undefined where absent), results by port.
using Evaluate =
    std::function<std::vector<Tensor>(const OpInfo&, const Attributes&, const std::vector<Tensor>& operands)>;

/// What the importer may know of the inputs.
struct Binding {
  std::map<std::string, Dims> dims;      ///< for inputs with open extents; others stay open
  std::map<std::string, Tensor> values;  ///< inputs, for what depends on them: extents, branches taken, iterations
  Evaluate evaluate;                     ///< without it nothing is computed
};

/// An input or output of a file.
struct Port {
  std::string name;
  std::string type;  ///< "float32[batch, 3, 32, 32]", "sequence": as the file has it
  Dims dims;         ///< open extents are kUnknown
  bool is_tensor = false;
  bool has_default = false;  ///< an input that the file has contents for
};

struct Summary {
  std::string format;    ///< "onnx"
  std::string title;     ///< "ONNX file of pytorch 2.1, IR version 8, opset ai.onnx 13"
  std::string producer;  ///< name and version
  std::vector<std::pair<std::string, int64_t>> versions;  ///< of the file's parts: "ir_version"
  std::map<std::string, int64_t> opsets;                  ///< versions of sets of operators, by domain
  std::map<std::string, int64_t> operators;               ///< nodes by operator, those of graphs inside included
  std::vector<Port> inputs, outputs;
  int64_t nodes = 0, parameters = 0, parameter_bytes = 0;
};

/// Nodes that cannot be translated for one reason.
struct Issue {
  std::string op;              ///< with its domain where that is not the format's own
  Diagnostic reason;           ///< type, attribute or form that is missing, at the first of the nodes
  bool needs_values = false;   ///< only without inputs: `run` can do it
  bool needs_extents = false;  ///< only with open extents
  std::vector<std::string> nodes;
  std::string nearest = {};  ///< the supported form that comes nearest, in words; "" for none

  std::string what() const;    ///< the reason without its place and its remedy
  std::string remedy() const;  ///< what to do about it; never ""
};

struct Coverage {
  std::vector<Issue> issues;  ///< in the order in which they appear
  int64_t unchecked = 0;      ///< nodes behind them, of which only the operator was looked up
  /// Nothing is unsupported, whatever depends on values aside.
  bool complete() const;
};

/// A file whose outside is checked: format, limits, versions.
class File {
 public:
  virtual ~File() = default;

  virtual Summary summary() const = 0;
  /// Everything that `import` would refuse with this binding. Throws for a damaged file.
  virtual Coverage coverage(const Binding& binding) const = 0;
  /// A verified Model: arguments and outputs have the names of the file, values those of the nodes' outputs, locations
  /// say which node of the file. Throws Error; `unsupported` names node, operator and what of it.
  virtual Model import(const Binding& binding) const = 0;
};

}  // namespace halfstep::formats
