#include "halfstep/report/quantized.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "halfstep/report/audit.h"
#include "halfstep/report/common/json.h"
#include "halfstep/report/common/objects.h"
#include "halfstep/report/repaired.h"

namespace halfstep::report {

std::string as_text(const api::QuantizeResult& quantized) {
  std::string text =
      fmt::format("platform {}: {}\n\n{}", quantized.platform.name, quantized.platform.doc, as_text(quantized.audit));
  if (!std::ranges::all_of(quantized.audit.in_float, &quant::FloatFallback::is_outside))
    text += "convert accepts them only with --float-fallback\n";
  if (!quantized.padded.empty())
    text += fmt::format("\nzero-padded channels: {}; outputs are unchanged\n", fmt::join(quantized.padded, ", "));
  if (quantized.normalizations > 0) {
    text += fmt::format(
        "\n{} batch norms are folded into the layers before them; outputs of float layers change by at most {:.1e} of "
        "their largest value",
        quantized.normalizations, quantized.difference);
    if (quantized.batch_norms != quant::BatchNorms::folded)
      text +=
          fmt::format("; training computes them {}, the integer program has them folded", name(quantized.batch_norms));
    text += "\n";
  }
  if (quantized.samples > 0)
    text += fmt::format("\ncalibrated on {} samples; raw values are preprocessed by {}\n", quantized.samples,
                        quantized.preprocess);
  if (quantized.repair) text += "\n" + as_text(*quantized.repair);
  return text;
}

std::string as_json(const api::QuantizeResult& quantized) {
  nlohmann::ordered_json json = {{"platform", quantized.platform.name}};
  json.update(to_json(quantized.audit));
  json["padded"] = quantized.padded;
  json["batch_norms"] = {{"folded", quantized.normalizations},
                         {"training", name(quantized.batch_norms)},
                         {"difference", quantized.difference}};
  json["samples"] = quantized.samples;
  json["preprocess"] = quantized.preprocess;
  json["notes"] = quantized.notes;
  if (quantized.repair) json["repair"] = to_json(*quantized.repair);
  json["record"] = quantized.platform.text;
  return to_text(json);
}

}  // namespace halfstep::report
