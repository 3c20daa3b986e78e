#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/audit_table.h"
#include "cli/command.h"

namespace halfstep::cli {

void add_quantize(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    QuantizeRequest request;
    std::vector<std::string> overrides;
  };
  const auto options = std::make_shared<Options>();
  QuantizeRequest& request = options->request;
  CLI::App* command = add_command(program, "quantize", "Insert and calibrate the quantizers of a platform",
                                  "halfstep quantize float.safetensors --platform pow2_int8 --calibrate digits.csv.gz --out prepared.safetensors",
                                  options->common);
  command->add_option("model", request.model, "float Model")->required();
  command->add_option("--calibrate", request.calibrate, "samples to calibrate on; the embedded digits without it");
  command->add_option("--out", request.out, "file for the prepared Model")->required();
  add_target(*command, request.target, options->overrides);
  command->callback([options, &work] {
    work = [options] {
      options->request.target.overrides = split_overrides(options->overrides);
      const QuantizeReport report = quantize_model(options->request, options->common.settings());
      if (options->common.json) {
        fmt::print("{}\n", nlohmann::ordered_json({{"samples", report.samples}, {"audit", audit_json(report.audit)}, {"platform", report.platform}}).dump(2));
      } else {
        fmt::print("{}\n{}\ncalibrated on {} samples\nwrote {}\n", report.platform, audit_table(report.audit), report.samples,
                   options->request.out.string());
      }
      return int{kDone};
    };
  });
}

}  // namespace halfstep::cli
