#include "halfstep/api/export.h"

#include "halfstep/api/detail/declared_codes.h"
#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/eager/call.h"
#include "halfstep/formats/onnx_export/onnx_writer.h"
#include "halfstep/passes/quantized/learned_parts.h"
#include "halfstep/quant/convert/convert.h"

namespace halfstep::api {
namespace {

using formats::onnx::ExportForm;

ExportForm form_of(std::optional<ExportFormat> format, const Model& network) {
  if (!format) return stage_of(network) == Stage::integer ? ExportForm::qoperator : ExportForm::floats;
  if (*format == ExportFormat::float_) return ExportForm::floats;
  if (*format == ExportFormat::qdq) return ExportForm::qdq;
  if (*format == ExportFormat::qoperator) return ExportForm::qoperator;
  fail(errors::not_a_choice("format", name(*format), "float, qdq or qoperator"));
}

/// Returns the integer program of a prepared network in the form of requantization of ONNX's operators. `approximated`
/// receives the quantizers for which the network uses another form.
Model converted(const Model& network, bool approximate, std::vector<std::string>& approximated) {
  Model prepared = with_declared_codes(network);
  for (const auto& quantizer : prepared.graph.all<ops::FakeQuantize>()) {
    if (quantizer.requantize() == "float32") continue;
    if (!approximate) fail(errors::requantization_not_in_onnx(prepared.graph.name(), quantizer.requantize()));
    quantizer.set_attributes({{"requantize", std::string("float32")}});
    if (!quantizer.x().is_tensor() && quantizer.x().producer()) approximated.push_back(quantizer.x().name());
  }
  return quant::convert(prepared, {.float_fallback = true}).model;  // the writer of the file rejects or lists float
                                                                    // fallbacks
}

/// Returns the Model from which the file is written.
Model model_of(const Model& network, const ExportOptions& options, ExportForm form,
               std::vector<std::string>& approximated) {
  const Stage stage = stage_of(network);
  if (form == ExportForm::floats) {
    if (stage == Stage::integer)
      fail(errors::wrong_stage(place_of(network), "an integer program", "a network with float weights",
                               "export its source network"));
    Model closed = network;
    passes::close_learned_parts(closed);
    return closed;
  }
  if (stage == Stage::float_network)
    fail(errors::wrong_stage(place_of(network), "a float network", "a prepared network or an integer program",
                             "run quantize first"));
  return stage == Stage::prepared ? converted(network, options.approximate, approximated) : network;
}

}  // namespace

ExportResult export_onnx(const Model& network, const std::filesystem::path& out, const ExportOptions& options) {
  const ExportForm form = form_of(options.format, network);
  io::require_file_target(out);
  ExportResult report;
  const Model model = model_of(network, options, form, report.approximated);
  const formats::onnx::ExportOptions written_as{
      .form = form, .opset = options.opset, .approximate = options.approximate, .evaluate = eager::call};
  const auto written = formats::onnx::export_file(model, written_as, out);
  report.nodes = written.nodes;
  report.approximated.insert(report.approximated.end(), written.approximated.begin(), written.approximated.end());
  return report;
}

}  // namespace halfstep::api
