// ONNX files as Models.
//
// Translation specializes: what is known when it happens (constants, shape arithmetic, values that the caller has) is
// computed at once, so that the Model has operators on data alone. docs/formats.md says more.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halfstep/base/tensor.h"
#include "halfstep/ir/model.h"

namespace halfstep::formats::onnx {

class OnnxFile;

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
  bool has_default = false;  ///< an input that is also an initializer
};

struct Summary {
  std::string producer;  ///< name and version
  int64_t ir_version = 0;
  std::map<std::string, int64_t> opsets;     ///< by domain, "" is ONNX's own
  std::map<std::string, int64_t> operators;  ///< nodes by operator, those of graphs inside included
  std::vector<Port> inputs, outputs;
  int64_t nodes = 0, parameters = 0, parameter_bytes = 0;
};

/// Nodes that cannot be translated for one reason.
struct Issue {
  std::string op;              ///< with its domain where that is not ONNX's own
  std::string reason;          ///< type, attribute or form that is missing
  bool needs_values = false;   ///< only without inputs: `run` can do it
  bool needs_extents = false;  ///< only with open extents
  std::vector<std::string> nodes;
};

struct Coverage {
  std::vector<Issue> issues;  ///< in the order in which they appear
  int64_t unchecked = 0;      ///< nodes behind them, of which only the operator was looked up
  /// Nothing is unsupported, whatever depends on values aside.
  bool complete() const;
};

/// Opens and checks the outside of a file: wire format, limits, operator sets. Throws Error.
std::shared_ptr<const OnnxFile> open(const std::filesystem::path& path);
/// The same for bytes in memory; see OnnxFile::parse.
std::shared_ptr<const OnnxFile> parse(std::span<const std::byte> bytes, const std::string& name);
bool is_onnx_file(const std::filesystem::path& path);

Summary summarize(const OnnxFile& file);

/// Everything that `import` would refuse with this binding. Throws for a damaged file.
Coverage coverage(const OnnxFile& file, const Binding& binding = {});

/// A verified Model: arguments and outputs have the names of the file, values those of the nodes' outputs, locations
/// say which node of the file. Throws Error; `unsupported` names node, operator and what of it.
Model import(const OnnxFile& file, const Binding& binding = {});

/// A tensor of ONNX's test data.
Tensor read_tensor_file(const std::filesystem::path& path);

}  // namespace halfstep::formats::onnx
