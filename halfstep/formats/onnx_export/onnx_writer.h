// From a Model to an ONNX file, in bytes that are the same for the same model.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/formats/builder/foreign_file.h"

namespace halfstep::formats::onnx {

enum class ExportForm {
  floats,         ///< the float network; a prepared one without its quantizers
  pairs,          ///< the same with QuantizeLinear and DequantizeLinear where a prepared network has quantizers
  fake_quantize,  ///< the same with OpenVINO's FakeQuantize where a prepared network has quantizers
  qdq,            ///< float operators between QuantizeLinear and DequantizeLinear, of an integer program
  qoperator       ///< operators on codes, ONNX's and com.microsoft's, of an integer program
};

inline constexpr int64_t kOldestExportOpset = 13, kNewestExportOpset = 25;

struct ExportOptions {
  ExportForm form = ExportForm::floats;
  int64_t opset = 21;
  /// Operators whose arithmetic the form does not have become the nearest that it has, instead of being refused.
  bool approximate = false;
  /// Values by name that become outputs beside those of the model: the codes of a layer NAME are its value NAME.
  std::vector<std::string> outputs = {};
  /// Runs operators, to see which tables are those of a runtime's functions on codes; without it tables stay tables.
  Evaluate evaluate = {};
  /// Tensors go to a file of their own when they have more bytes together: protobuf ends at 2 GiB.
  size_t external_above = size_t{1} << 30;
};

struct ExportReport {
  int64_t nodes = 0;
  std::vector<std::string> approximated;  ///< operators whose codes may differ from the Model's
};

/// A file as it will be written; `data` is empty where the message holds the tensors.
struct ExportedFile {
  std::string message;
  std::vector<std::byte> data;
  ExportReport report;
};

/// Inputs and outputs are those of the model, with their names; a layer keeps its name as that of its node and of its
/// result. `data_name` is what the message calls the file of the tensors. Throws unsupported, naming the operator, for
/// what the form or the opset cannot say.
ExportedFile export_model(const Model& model, const ExportOptions& options, const std::string& data_name);

/// The same to `path`, and tensors that are too large for it to PATH.data: files are whole or not there.
ExportReport export_file(const Model& model, const ExportOptions& options, const std::filesystem::path& path);

/// Writes the file at `path` over `like`, with the outputs that this one has and it lacks. `like` is the same program
/// exported with outputs; throws where a value of these is missing.
void add_outputs(const std::filesystem::path& path, const std::filesystem::path& like);

}  // namespace halfstep::formats::onnx
