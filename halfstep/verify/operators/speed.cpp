#include <algorithm>

#include "halfstep/verify/operators/operator_runner.h"

namespace halfstep::verify {
namespace {

// Enough runs for a median, limited to the time that a user waits.
constexpr size_t kRuns = 101;
constexpr double kSeconds = 1.0;
constexpr int kWarmUps = 2;

double bytes_of(const Single& single) {
  double bytes = 0;
  const auto add = [&](Value value) {
    if (value) bytes += static_cast<double>(count_elements(value.dims())) * static_cast<double>(size_of(value.dtype()));
  };
  for (const Value operand : single.op.operands()) add(operand);
  for (const Value result : single.op.results()) add(result);
  return bytes;
}

size_t instruction_of(const Single& single, const runtime::Program& program) {
  const auto& instructions = program.instructions();
  const auto found = std::find_if(instructions.begin(), instructions.end(),
                                  [&](const runtime::Instruction& i) { return i.name == single.op.name(); });
  HS_CHECK(found != instructions.end() && found->kernel != nullptr);
  return static_cast<size_t>(found - instructions.begin());
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

OpSpeed measure(const Problem& problem, const std::vector<Tensor>& operands, Place place, ThreadPool& pool) {
  const Single single = make_single(problem, operands, OperandSource::tensors);
  CompileOptions options;
  options.optimize = false;
  options.place = place;
  runtime::Program program = compile(single.model, options);
  const size_t instruction = instruction_of(single, program);
  std::map<std::string, Tensor> outputs;
  runtime::Trace trace;
  std::vector<double> seconds;
  double total = 0;
  for (int i = 0; i < kWarmUps; ++i) program.run_into(single.inputs, outputs, pool);
  while (seconds.empty() || (seconds.size() < kRuns && total < kSeconds)) {
    program.run_into(single.inputs, outputs, pool, &trace);
    const auto& timing = trace.timings.at(instruction);
    seconds.push_back(static_cast<double>(timing.end - timing.begin) * 1e-9);
    total += seconds.back();
  }
  const double middle = median(std::move(seconds));
  const std::string kernel = program.instructions()[instruction].kernel->name;
  return {to_text(problem), kernel, middle * 1e6, middle > 0 ? bytes_of(single) / middle * 1e-9 : 0};
}

}  // namespace halfstep::verify
