// Runs the toy operators of the patches in this folder, through the reference and through the best kernel of each
// device. tools/check_operator_cost.py compiles and runs it.
#include <fmt/format.h>

#include <cstring>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/engine/compile/compile.h"

namespace {

using namespace halfstep;

/// Whether operator `op` computes `expected` from `x` on device `place`. Prints the result.
bool runs(const std::string& op, const std::string& attributes, Place place, const std::vector<float>& x,
          const std::vector<float>& expected) {
  const std::string text =
      fmt::format("graph toy(x: f32[2, {}]) {{\n  y = {}(x=x){}\n  return y = y\n}}\n", x.size() / 2, op, attributes);
  runtime::Program program = compile(Model{parse(text), {}, {}, {}}, {.place = place});
  Tensor input(DType::f32, {2, static_cast<int64_t>(x.size() / 2)});
  std::memcpy(input.raw(), x.data(), input.bytes());
  ThreadPool pool(2);
  const Tensor y = program.run({{"x", input}}, pool).at("y");
  const bool same = std::memcmp(y.raw(), expected.data(), y.bytes()) == 0;
  std::string kernel = "none";
  for (const auto& instruction : program.instructions()) {
    if (instruction.op == op) kernel = instruction.kernel->name;
  }
  fmt::print("{}{} on {}: kernel '{}', {}\n", op, attributes, to_string(place), kernel,
             same ? "as expected"
                  : fmt::format("found {}, expected {}", fmt::join(y.data<float>(), " "), fmt::join(expected, " ")));
  return same;
}

}  // namespace

int main() {
  bool good = true;
  for (const Place place : {Place{DeviceKind::cpu}, Place{DeviceKind::sim}}) {
    good &= runs("unit_squash", "", place, {0, 1, -1, 3, -3, 7}, {0, 0.5F, -0.5F, 0.75F, -0.75F, 0.875F});
    good &= runs("unit_prefix_sum", "", place, {1, 2, 3, 4, 5, 6}, {1, 3, 6, 4, 9, 15});
    good &= runs("unit_prefix_sum", " {exclusive: true}", place, {1, 2, 3, 4, 5, 6}, {0, 1, 3, 0, 4, 9});
  }
  return good ? 0 : 1;
}
