#include "halfstep/data.h"
#include "halfstep/eager/call.h"
#include "halfstep/formats/onnx/export.h"
#include "halfstep/halfstep.h"
#include "halfstep/io/atomic_file.h"
#include "halfstep/ir/ops.h"
#include "halfstep/network.h"

namespace halfstep {
namespace {

using formats::onnx::ExportForm;

ExportForm form_of(const std::string& format) {
  if (format == "float") return ExportForm::floats;
  if (format == "qdq") return ExportForm::qdq;
  if (format == "qoperator") return ExportForm::qoperator;
  fail("format: found '{}', expected float, qdq or qoperator", format);
}

/// The integer program of a prepared network in the form of requantization that ONNX's operators have; `approximated`
/// takes the quantizers that the network has in another.
Model converted(Model prepared, const ExportRequest& request, std::vector<std::string>& approximated) {
  for (const auto& quantizer : prepared.graph.all<ops::FakeQuantize>()) {
    if (quantizer.requantize() == "float32") continue;
    if (!request.approximate)
      unsupported(
          "{}: the network requantizes by {}, which ONNX's operators do not, and codes may differ: ask for an "
          "approximation (--approximate), or quantize for onnxruntime_int8",
          request.model.string(), quantizer.requantize());
    quantizer.set_attributes({{"requantize", std::string("float32")}});
    if (!quantizer.x().is_tensor() && quantizer.x().producer()) approximated.push_back(quantizer.x().name());
  }
  return quant::convert(prepared, {.float_islands = true}).model;  // the file's writer refuses or lists them
}

/// The Model that the form is made of.
Model source_of(const ExportRequest& request, ExportForm form, std::vector<std::string>& approximated) {
  Model model = load_network(request.model);
  const std::string stage = stage_of(model);
  if (form == ExportForm::floats) {
    if (stage == "integer")
      fail("{}: is an integer program, which has no float weights; export the network that it came from",
           request.model.string());
    return model;
  }
  if (stage == "float")
    fail("{}: is a float network, expected a prepared or integer one; run quantize first", request.model.string());
  return stage == "prepared" ? converted(std::move(model), request, approximated) : model;
}

}  // namespace

ExportReport export_model(const ExportRequest& request) {
  const ExportForm form = form_of(request.format);
  io::require_file_target(request.out);
  ExportReport report;
  const Model model = source_of(request, form, report.approximated);
  const formats::onnx::ExportOptions options{
      .form = form, .opset = request.opset, .approximate = request.approximate, .evaluate = eager::call};
  const auto written = formats::onnx::export_file(model, options, request.out);
  report.nodes = written.nodes;
  report.approximated.insert(report.approximated.end(), written.approximated.begin(), written.approximated.end());
  return report;
}

}  // namespace halfstep
