// Writes a Model as an ONNX file. Equal models produce equal bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/formats/builder/foreign_file.h"

namespace halfstep::formats::onnx {

enum class ExportForm {
  floats,         ///< the float network, for a prepared one without its quantizers
  pairs,          ///< the float network with QuantizeLinear and DequantizeLinear for quantizers of a prepared network
  fake_quantize,  ///< the float network with OpenVINO's FakeQuantize for quantizers of a prepared network
  qdq,            ///< float operators between QuantizeLinear and DequantizeLinear, for an integer program
  qoperator       ///< operators on codes, ONNX's and com.microsoft's, for an integer program
};

inline constexpr int64_t kOldestExportOpset = 13, kNewestExportOpset = 25;

struct ExportOptions {
  ExportForm form = ExportForm::floats;
  int64_t opset = 21;
  /// Replaces operators whose arithmetic the form does not have by the nearest form, instead of rejecting them.
  bool approximate = false;
  /// Names of values that become outputs in addition to those of the model. The codes of a layer NAME are its value
  /// NAME.
  std::vector<std::string> outputs = {};
  /// Runs operators, to find tables that a runtime's functions on codes reproduce. Without it all tables stay tables.
  Evaluate evaluate = {};
  /// Tensors with more bytes in total go to a separate file, because protobuf messages are limited to 2 GiB.
  size_t external_above = size_t{1} << 30;
};

struct ExportReport {
  int64_t nodes = 0;
  std::vector<std::string> approximated;  ///< operators whose codes may differ from the Model's
};

/// A file before it is written. `data` is empty if the message holds the tensors.
struct ExportedFile {
  std::string message;
  std::vector<std::byte> data;
  ExportReport report;
};

/// Exports inputs and outputs under the names of the model. A layer keeps its name for its node and its result.
/// `data_name` is the file of the tensors in the message. Throws unsupported, naming the operator, if the form or the
/// opset cannot express it.
ExportedFile export_model(const Model& model, const ExportOptions& options, const std::string& data_name);

/// Exports to `path`, with tensors above external_above in PATH.data. Writes are atomic.
ExportReport export_file(const Model& model, const ExportOptions& options, const std::filesystem::path& path);

/// Replaces the file `like` by the file at `path`, with all outputs of `like` added that `path` lacks. `like` is an
/// export of the same program with more outputs. Throws if `path` lacks a value of these outputs.
void add_outputs(const std::filesystem::path& path, const std::filesystem::path& like);

}  // namespace halfstep::formats::onnx
