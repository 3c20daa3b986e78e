// Operators without weights or windows.
#include <fmt/format.h>

#include <cmath>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/c/operators.h"
#include "halfstep/formats/c/scales.h"
#include "halfstep/formats/c/strides.h"

namespace halfstep::formats::c {
namespace {

float narrow(double scale) { return static_cast<float>(scale); }

/// Returns the computation of added.c on the codes a and b.
std::string fixed_sum_lines(const std::string& shift) {
  return "    const int64_t sum = ((int64_t)a - q->a_zero_point) * q->a_multiplier +\n"
         "                        ((int64_t)b - q->b_zero_point) * q->b_multiplier;\n"
         "    const int64_t code = " +
         shift + "(sum, q->shift) + q->zero_point;\n";
}
constexpr const char* kFloatSum =
    "    const float part = multiply_add((float)b, q->b_scale, q->b_offset);\n"
    "    const float placed = multiply_add((float)a, q->a_scale, part);\n"
    "    const int32_t code = nearest(placed);\n";
constexpr const char* kEngineSum =
    "    const float real_a = multiply_add((float)a, q->a_scale, q->a_offset);\n"
    "    const float real_b = multiply_add((float)b, q->b_scale, q->b_offset);\n"
    "    const float sum = real_a + real_b;\n"
    "    const float steps = sum * q->factor;\n"
    "    const int32_t code = nearest(steps) + q->zero_point;\n";

std::string float_sum_text(const ops::IntegerAdd& add, bool is_engine) {
  const float a = narrow(add.a_scale()), b = narrow(add.b_scale()), y = narrow(add.y_scale());
  const auto a_zero = static_cast<float>(add.a_zero_point()), b_zero = static_cast<float>(add.b_zero_point());
  if (is_engine) {
    const float a_offset = a * a_zero, b_offset = b * b_zero;
    return fmt::format(".a_scale = {}, .a_offset = {}, .b_scale = {}, .b_offset = {}, .factor = {}", c_number(a),
                       c_number(-a_offset), c_number(b), c_number(-b_offset), c_number(1.0F / y));
  }
  const float a_ratio = a / y, b_ratio = b / y, b_part = b_ratio * b_zero;
  const float offset = static_cast<float>(add.y_zero_point()) - std::fma(a_ratio, a_zero, b_part);
  return fmt::format(".a_scale = {}, .a_offset = 0.0f, .b_scale = {}, .b_offset = {}, .factor = 1.0f",
                     c_number(a_ratio), c_number(b_ratio), c_number(offset));
}

Scale float_sum(Body& body, const ops::IntegerAdd& add) {
  const bool engine = is_engine(add);
  body.uses_floats = true;
  for (const char* part : {"scalar/nearest", "scalar/multiply_add", "scalar/float_sum"}) body.kernels.use(part);
  Scale scale{"float_sum", engine ? "added_engine" : "added_float32", "int32_t",
              "&" + body.object(name_of(add.name(), "q"), "float_sum",
                                float_sum_text(add, engine) + ", " + clamp_text(add), 32)};
  Words words = scale.words();
  words["what"] = engine ? "converted to real values, added, and converted to codes."
                         : "each times a factor, with one more rounding.";
  words["sum_lines"] = engine ? kEngineSum : kFloatSum;
  body.kernels.use("added", words);
  return scale;
}

Scale fixed_sum(Body& body, const ops::IntegerAdd& add) {
  const std::string shift = shift_function(body, add);
  body.kernels.use("scalar/fixed_sum");
  const std::string text = fmt::format(
      ".a_multiplier = {}, .b_multiplier = {}, .shift = {}, .a_zero_point = {}, .b_zero_point = {}, {}",
      add.a_multiplier(), add.b_multiplier(), add.shift(), add.a_zero_point(), add.b_zero_point(), clamp_text(add));
  Scale scale{"fixed_sum", "added_" + add.shift_rounding(), "int64_t",
              "&" + body.object(name_of(add.name(), "q"), "fixed_sum", text, 32)};
  Words words = scale.words();
  words["what"] = "each times a factor, and one shift.";
  words["sum_lines"] = fixed_sum_lines(shift);
  body.kernels.use("added", words);
  return scale;
}

/// Returns the strides of `operand` along the axes of `result`.
std::vector<int64_t> repeated(const Body& body, Value operand, Value result) {
  const std::vector<int64_t> own = strides(body, operand);
  std::vector<int64_t> steps(result.dims().size() - own.size(), 0);
  steps.insert(steps.end(), own.begin(), own.end());
  return steps;
}

Words types(Value a, Value b, Value y) {
  return {{"a", c_type(a.dtype())}, {"b", c_type(b.dtype())}, {"y", c_type(y.dtype())}};
}

}  // namespace

std::string broadcast_object(Body& body, Op op, Value a, Value b) {
  const Value y = op.out(0);
  const std::vector<int64_t> a_steps = repeated(body, a, y), b_steps = repeated(body, b, y);
  Loops loops{{}, {{}, {}}};
  for (const size_t axis : memory_axes(body, y)) loops.add(y.dims()[axis], {a_steps[axis], b_steps[axis]});
  require_four(op, loops, "operands that are repeated");
  return "&" + body.object(name_of(op.name(), "extents"), "broadcast",
                           fmt::format(".count = {}, .a_step = {}, .b_step = {}", four(loops.count, 1),
                                       four(loops.steps[0], 0), four(loops.steps[1], 0)),
                           48);
}

void add_sum(Body& body, Op op) {
  const ops::IntegerAdd add(op.node());
  const Scale scale = scales_in_float(op) ? float_sum(body, add) : fixed_sum(body, add);
  Words words = types(add.a(), add.b(), add.out());
  words.merge(scale.words());
  const int64_t count = count_elements(add.out().dims());
  const bool repeats = count_elements(add.a().dims()) != count || count_elements(add.b().dims()) != count;
  words["add"] = fmt::format("add_{}{}_{}_{}_{}", repeats ? "repeated_" : "", tag(add.a().dtype()),
                             tag(add.b().dtype()), tag(add.out().dtype()), scale.code.substr(6));
  if (repeats) body.kernels.use("broadcast");
  body.kernels.use(repeats ? "add_repeated" : "add", words);
  const std::string extents = repeats ? broadcast_object(body, op, add.a(), add.b()) : std::to_string(count);
  const std::string a = body.read(add.a()), b = body.read(add.b()), y = body.write(add.out());
  body.say(fmt::format("{}({}, {}, {}, {}, {});", words["add"], a, b, y, extents, scale.object));
}

void add_product(Body& body, Op op) {
  const ops::IntegerMul mul(op.node());
  StoredFactors factors;
  if (scales_in_float(op)) {
    const float a = narrow(mul.a_scale()), b = narrow(mul.b_scale()), y = narrow(mul.y_scale());
    const float product = a * b, inverse = 1.0F / y;
    factors.zero_inside = !is_engine(op);
    factors.factors = {is_engine(op) ? product * inverse : product / y};
  } else {
    factors.multipliers = {mul.multiplier()};
    factors.shifts = {mul.shift()};
  }
  const Scale scale =
      plain_scale(body, op, factors, true,
                  largest_magnitude(mul.a(), mul.a_zero_point()) * largest_magnitude(mul.b(), mul.b_zero_point()));
  Words words = types(mul.a(), mul.b(), mul.out());
  words.merge(scale.words());
  words["mul"] = fmt::format("mul_{}_{}_{}_{}", tag(mul.a().dtype()), tag(mul.b().dtype()), tag(mul.out().dtype()),
                             scale.code.substr(5));
  body.kernels.use("broadcast");
  body.kernels.use("mul", words);
  const std::string extents = broadcast_object(body, op, mul.a(), mul.b());
  const std::string a = body.read(mul.a()), b = body.read(mul.b()), y = body.write(mul.out());
  body.say(fmt::format("{}({}, {}, {}, {}, {}, {}, {});", words["mul"], a, b, y, extents, mul.a_zero_point(),
                       mul.b_zero_point(), scale.object));
}

void add_rescale(Body& body, Op op) {
  const ops::IntegerRescale rescale(op.node());
  const Scale scale = plain_scale(body, op, {{rescale.multiplier()}, {rescale.shift()}, {}, false}, false);
  Words words = scale.words();
  words["x"] = c_type(rescale.x().dtype());
  words["y"] = c_type(rescale.out().dtype());
  words["rescale"] =
      fmt::format("rescale_{}_{}_{}", tag(rescale.x().dtype()), tag(rescale.out().dtype()), scale.code.substr(5));
  body.kernels.use("rescale", words);
  const std::string x = body.read(rescale.x()), y = body.write(rescale.out());
  body.say(fmt::format("{}({}, {}, {}, {}, {});", words["rescale"], x, y, count_elements(rescale.out().dims()),
                       rescale.x_zero_point(), scale.object));
}

void add_lookup(Body& body, Op op) {
  const ops::IntegerLookup lookup(op.node());
  const Tensor& table = body.contents(lookup.table());
  std::vector<int64_t> entries;
  for (int64_t i = 0; i < table.size(); ++i) entries.push_back(static_cast<int64_t>(element(table, i)));
  const std::string name =
      body.numbers(name_of(op.name(), "table"), c_type(table.dtype()), entries, size_of(table.dtype()));
  const DType x_type = lookup.x().dtype(), y_type = lookup.out().dtype();
  const Words words = {{"x", c_type(x_type)},
                       {"t", c_type(table.dtype())},
                       {"y", c_type(y_type)},
                       {"lookup", fmt::format("lookup_{}_{}_{}", tag(x_type), tag(table.dtype()), tag(y_type))}};
  body.kernels.use("lookup", words);
  const std::string x = body.read(lookup.x()), y = body.write(lookup.out());
  body.say(fmt::format("{}({}, {}, {}, {}, {}, {});", words.at("lookup"), x, name, y,
                       count_elements(lookup.out().dims()), lookup.x_code_min(), table.size() - 1));
}

}  // namespace halfstep::formats::c
