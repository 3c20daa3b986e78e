// Operators without weights or windows.
#include <cmath>
#include <numeric>

#include "halfstep/base/elements.h"
#include "halfstep/emit/operators.h"
#include "halfstep/emit/scales.h"
#include "halfstep/ir/ops.h"

namespace halfstep::emit {
namespace {

float narrow(double scale) { return static_cast<float>(scale); }

/// What add.c computes of a[i] and b[i].
std::string fixed_sum_lines(const std::string& shift) {
  return "        const int64_t sum = ((int64_t)a[i] - s.a_zero_point) * s.a_multiplier +\n"
         "                            ((int64_t)b[i] - s.b_zero_point) * s.b_multiplier;\n"
         "        const int64_t code = " +
         shift + "(sum, s.shift) + s.zero_point;\n";
}
constexpr const char* kFloatSum =
    "        const float part = multiply_add((float)b[i], s.b_scale, s.b_offset);\n"
    "        const float placed = multiply_add((float)a[i], s.a_scale, part);\n"
    "        const int32_t code = nearest(placed);\n";
constexpr const char* kEngineSum =
    "        const float real_a = multiply_add((float)a[i], s.a_scale, s.a_offset);\n"
    "        const float real_b = multiply_add((float)b[i], s.b_scale, s.b_offset);\n"
    "        const float sum = real_a + real_b;\n"
    "        const float steps = sum * s.factor;\n"
    "        const int32_t code = nearest(steps) + s.zero_point;\n";

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

/// Axes from the innermost out.
std::vector<size_t> order_of(size_t rank, bool is_image) {
  if (is_image) return {1, 3, 2, 0};
  std::vector<size_t> axes(rank);
  std::iota(axes.rbegin(), axes.rend(), size_t{0});
  return axes;
}

/// Extents of `operand` against those of the result, and how far apart its elements are along each.
struct Strides {
  Dims count, a, b;
};

/// How far apart elements of `operand` are along the axes of `result`, in the order in which that lies in memory.
std::vector<int64_t> steps_of(Body& body, Value operand, Value result) {
  const size_t rank = result.dims().size();
  Dims dims(rank, 1);
  std::copy(operand.dims().begin(), operand.dims().end(), dims.end() - static_cast<int64_t>(operand.dims().size()));
  std::vector<int64_t> steps(rank, 0);
  int64_t step = 1;
  for (const size_t axis : order_of(rank, body.is_image(operand))) {
    if (dims[axis] != 1) steps[axis] = step;
    step *= dims[axis];
  }
  std::vector<int64_t> ordered;
  for (const size_t axis : order_of(rank, body.is_image(result))) ordered.insert(ordered.begin(), steps[axis]);
  return ordered;
}

/// Axes that both operands go over in one run become one.
Strides merged(const Dims& result, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  Strides all;
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i] == 1) continue;
    if (!all.count.empty() && all.a.back() == a[i] * result[i] && all.b.back() == b[i] * result[i]) {
      all.count.back() *= result[i];
      all.a.back() = a[i];
      all.b.back() = b[i];
      continue;
    }
    all.count.push_back(result[i]);
    all.a.push_back(a[i]);
    all.b.push_back(b[i]);
  }
  return all;
}

std::string four(const Dims& values, int64_t missing) {
  std::vector<int64_t> text(4 - values.size(), missing);
  text.insert(text.end(), values.begin(), values.end());
  return "{" + c_numbers(std::span<const int64_t>(text)) + "}";
}

Words types(Value a, Value b, Value y) {
  return {{"a", c_type(a.dtype())}, {"b", c_type(b.dtype())}, {"y", c_type(y.dtype())}};
}

}  // namespace

std::string broadcast_object(Body& body, Op op, Value a, Value b) {
  const Value y = op.out(0);
  const Strides all = merged(body.stored(y), steps_of(body, a, y), steps_of(body, b, y));
  if (all.count.size() > 4)
    unsupported("{}: found a product that repeats its operands along {} runs of axes, expected at most 4", op.where(),
                all.count.size());
  return "&" + body.object(name_of(op.name(), "extents"), "broadcast",
                           fmt::format(".count = {}, .a_step = {}, .b_step = {}", four(all.count, 1), four(all.a, 0),
                                       four(all.b, 0)),
                           48);
}

void add_sum(Body& body, Op op) {
  const ops::IntegerAdd add(op.node());
  const int64_t count = count_elements(add.out().dims());
  if (count_elements(add.a().dims()) != count || count_elements(add.b().dims()) != count)
    unsupported("{}: found a sum of {} and {}, which broadcast, expected as many elements", op.where(),
                to_string(add.a().type()), to_string(add.b().type()));
  Words words = types(add.a(), add.b(), add.out());
  std::string object;
  if (scales_in_float(op)) {
    body.uses_floats = true;
    body.kernels.use("nearest");
    body.kernels.use("multiply_add");
    body.kernels.use("float_sum");
    words["scale"] = "float_sum";
    words["what"] = is_engine(op) ? "made real, added, and made codes." : "each times a factor, rounded once more.";
    words["sum_lines"] = is_engine(op) ? kEngineSum : kFloatSum;
    words["code_type"] = "int32_t";
    object = body.object(name_of(op.name(), "q"), "float_sum",
                         float_sum_text(add, is_engine(op)) + ", " + clamp_text(op), 32);
  } else {
    words["scale"] = "fixed_sum";
    words["what"] = "each times a factor, and one shift.";
    words["sum_lines"] = fixed_sum_lines(shift_function(body, op));
    words["code_type"] = "int64_t";
    body.kernels.use("fixed_sum");
    object = body.object(name_of(op.name(), "q"), "fixed_sum",
                         fmt::format(".a_multiplier = {}, .b_multiplier = {}, .shift = {}, .a_zero_point = {}, "
                                     ".b_zero_point = {}, {}",
                                     add.a_multiplier(), add.b_multiplier(), add.shift(), add.a_zero_point(),
                                     add.b_zero_point(), clamp_text(op)),
                         32);
  }
  words["add"] = fmt::format("add_{}_{}_{}_{}", tag(add.a().dtype()), tag(add.b().dtype()), tag(add.out().dtype()),
                             scales_in_float(op) ? is_engine(op) ? "engine" : "float32" : add.shift_rounding());
  body.kernels.use("add", words);
  const std::string a = body.read(add.a()), b = body.read(add.b()), y = body.write(add.out());
  body.say(fmt::format("{}({}, {}, {}, {}, &{});", words["add"], a, b, y, count_elements(add.out().dims()), object));
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
  const Scale scale = plain_scale(body, op, factors, true);
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

}  // namespace halfstep::emit
