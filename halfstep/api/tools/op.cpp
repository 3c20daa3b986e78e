#include "halfstep/api/tools/op.h"

#include "halfstep/passes/gradient/gradients.h"

namespace halfstep::api {

verify::OpReport run_operators(const OpRequest& request, const Settings& settings) {
  verify::OpOptions options;
  options.modes = verify::parse_op_modes(std::string(name(request.mode)));
  options.problems = request.problems;
  if (request.operators) options.operators = *request.operators;
  options.threads = settings.threads;
  options.place = request.device;
  options.seed = settings.seed;
  options.gradient = passes::build_gradient;
  options.progress = settings.progress;
  return verify::run_operators(options);
}

verify::GoldenReport run_golden(const GoldenRequest& request, const Settings& settings) {
  return verify::run_golden(
      {request.file, request.operators, settings.threads, passes::build_gradient, settings.progress});
}

}  // namespace halfstep::api
