// Integers and conditions, as used for ids and masks. See docs/arithmetic.md, section 11.
#include <fmt/format.h>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/c/errors.h"
#include "halfstep/formats/c/operators.h"

namespace halfstep::formats::c {
namespace {

/// Returns an expression that wraps modulo 2^bits of the type: "wrapped((uint32_t)a + (uint32_t)b)".
std::string wrapped(Body& body, DType type, const std::string& left, const std::string& sign,
                    const std::string& right) {
  const bool wide = type == DType::i64;
  const std::string function = wide ? "wrapped64" : "wrapped", unsigned_type = wide ? "uint64_t" : "uint32_t";
  body.kernels.use("scalar/" + function);
  return fmt::format("{0}(({1}){2} {3} ({1}){4})", function, unsigned_type, left, sign, right);
}

/// Returns a conversion to the type `to`, or "" if C programs do not support it.
std::string cast_text(Body& body, DType from, DType to) {
  const bool to_wide = to == DType::i64;
  if (to == DType::boolean) return "(uint8_t)(x != 0)";
  if (to == DType::f32) return "(float)x";
  if (to != DType::i32 && !to_wide) return "";
  if (from == DType::f32) {
    const std::string most = to_wide ? "9223372036854775808.0f" : "2147483648.0f";
    const std::string type = to_wide ? "int64_t" : "int32_t", bits = to_wide ? "64" : "32";
    return fmt::format("x != x ? 0 : x >= {0} ? INT{2}_MAX : x < -{0} ? INT{2}_MIN : ({1})x", most, type, bits);
  }
  if (from == DType::i64 && !to_wide) return wrapped(body, to, "x", "+", "0");
  return fmt::format("({})x", c_type(to));
}

/// Comparisons of a and b by operator.
const std::map<const OpInfo*, std::string>& comparisons() {
  static const std::map<const OpInfo*, std::string> kComparisons = {
      {&ops::Equal::record(), "a == b"},          {&ops::Greater::record(), "a > b"},
      {&ops::GreaterOrEqual::record(), "a >= b"}, {&ops::Less::record(), "a < b"},
      {&ops::LessOrEqual::record(), "a <= b"},    {&ops::LogicalAnd::record(), "a && b"},
      {&ops::LogicalOr::record(), "a || b"},      {&ops::LogicalXor::record(), "a != b"}};
  return kComparisons;
}

/// Returns the expression in the names of the ports, or "".
std::string expression_of(Body& body, Op op) {
  const DType type = op.out(0).dtype();
  const bool is_whole = type == DType::i64 || type == DType::i32;
  if (op.is<ops::Cast>()) return cast_text(body, op.in(0).dtype(), type);
  if (op.is<ops::LogicalNot>()) return "(uint8_t)!x";
  if (const auto found = comparisons().find(&op.info()); found != comparisons().end())
    return "(uint8_t)(" + found->second + ")";
  if (is_whole && op.is<ops::Add>()) return wrapped(body, type, "a", "+", "b");
  if (is_whole && op.is<ops::Sub>()) return wrapped(body, type, "a", "-", "b");
  if (is_whole && op.is<ops::Mul>()) return wrapped(body, type, "a", "*", "b");
  if (!op.is<ops::MaskFill>()) return "";
  const double fill = element(body.contents(ops::MaskFill(op.node()).value()), 0);
  const std::string number =
      type == DType::f32 ? c_number(static_cast<float>(fill)) : c_number(static_cast<int64_t>(fill));
  return ops::MaskFill(op.node()).inverse() ? fmt::format("condition ? x : {}", number)
                                            : fmt::format("condition ? {} : x", number);
}

}  // namespace

bool is_of_wholes(Op op) {
  const auto is_real = [](Value value) { return !value || value.dtype() == DType::f32; };
  const bool computes =
      op.is<ops::Cast, ops::LogicalNot, ops::Add, ops::Sub, ops::Mul>() || comparisons().contains(&op.info());
  const auto operands = op.operands();
  return (computes && !(std::ranges::all_of(operands, is_real) && is_real(op.out(0)))) ||
         (op.is<ops::MaskFill>() && !ops::MaskFill(op.node()).condition().is_tensor());
}

void add_wholes(Body& body, Op op) {
  const std::string expression = expression_of(body, op);
  const Value out = op.out(0), a = op.in(0), b = op.operands().size() > 1 ? op.in(1) : Value();
  if (expression.empty() || (op.is<ops::MaskFill>() && !ops::MaskFill(op.node()).value().is_tensor()))
    fail(errors::no_c_form(op.where(),
                           fmt::format("{} of {} to {}", op.info().name, name(a.dtype()), name(out.dtype()))));
  body.uses_floats = body.uses_floats || a.dtype() == DType::f32 || out.dtype() == DType::f32;
  const std::string types = tag(a.dtype()) + (b ? "_" + tag(b.dtype()) : "") + "_" + tag(out.dtype());
  const std::string filling = op.is<ops::MaskFill>() ? "_" + expression : "";
  Words words = {{"what", op.info().name + ", by element."},
                 {"expression", expression},
                 {"to", c_type(out.dtype())},
                 {"function", to_c_identifier("each_" + op.info().name + "_" + types + filling)}};
  if (!b) {
    words["from"] = c_type(a.dtype());
    words["port"] = op.info().inputs[0].name;
    body.kernels.use("pointwise", words);
    const std::string x = memory_of(body, op, a, "x"), y = body.write(out);
    return body.say(fmt::format("{}({}, {}, {});", words["function"], x, y, count_elements(out.dims())));
  }
  words["a_type"] = c_type(a.dtype());
  words["b_type"] = c_type(b.dtype());
  words["a"] = op.info().inputs[0].name;
  words["b"] = op.info().inputs[1].name;
  body.kernels.use("broadcast");
  body.kernels.use("pointwise_of_two", words);
  const std::string extents = broadcast_object(body, op, a, b);
  const std::string left = memory_of(body, op, a, "a"), right = memory_of(body, op, b, "b");
  body.say(fmt::format("{}({}, {}, {}, {});", words["function"], left, right, body.write(out), extents));
}

void add_gather(Body& body, Op op) {
  const ops::Gather gather(op.node());
  const Value x = gather.x(), indices = gather.indices(), out = gather.out();
  if (body.is_image(x) || body.is_image(out))
    fail(errors::no_c_form(op.where(), fmt::format("gather of an image by '{}', which is computed,", indices.name())));
  const auto axis = static_cast<size_t>(gather.axis() < 0 ? gather.axis() + std::ssize(x.dims()) : gather.axis());
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < x.dims().size(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : x.dims()[i];
  const Words words = {{"x", c_type(x.dtype())},
                       {"i", c_type(indices.dtype())},
                       {"gather", fmt::format("gather_{}_{}", tag(x.dtype()), tag(indices.dtype()))}};
  body.kernels.use("gather", words);
  if (x.is_tensor()) body.weight_bytes += body.contents(x).bytes();
  const std::string from = memory_of(body, op, x, "x"), at = memory_of(body, op, indices, "indices");
  body.say(fmt::format("{}({}, {}, {}, {}, {}, {}, {});", words.at("gather"), from, at, body.write(out), outer,
                       count_elements(indices.dims()), x.dims()[axis], inner));
}

}  // namespace halfstep::formats::c
