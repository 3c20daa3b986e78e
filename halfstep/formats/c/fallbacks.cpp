// Float fallback operators, with the rules of docs/arithmetic.md, section 11.
#include <fmt/format.h>

#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/c/errors.h"
#include "halfstep/formats/c/operators.h"

namespace halfstep::formats::c {
namespace {

/// Returns the C text of an attribute.
std::string attribute_text(const Attribute& value) {
  if (const auto* real = std::get_if<double>(&value)) return c_number(static_cast<float>(*real));
  if (const auto* whole = std::get_if<int64_t>(&value)) return c_number(static_cast<float>(*whole));
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "1" : "0";
  return to_string(value);
}

std::string expression_of(Op op) {
  std::string text = op.info().c_expression;
  for (const auto& [name, value] : op.attributes()) {
    const std::string word = "@" + name + "@";
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word))
      text.replace(at, word.size(), attribute_text(value));
  }
  return text;
}

/// Returns "leaky_relu" with its attributes, if any.
std::string function_of(Op op) {
  std::string name = op.info().name;
  for (const auto& [key, value] : op.attributes()) name += "_" + to_string(value);
  return "real_" + to_c_identifier(name);
}

WindowText window_of(Op op, const Dims& kernel) {
  const auto list = [&](const char* name, Dims otherwise) {
    if (op.info().attribute(name) == nullptr) return otherwise;
    const auto& values = get<std::vector<int64_t>>(op.attributes(), name);
    return Dims(values.begin(), values.end());
  };
  const int64_t groups = op.info().attribute("groups") != nullptr ? get<int64_t>(op.attributes(), "groups") : 1;
  return {kernel, list("stride", {1, 1}), list("dilation", {1, 1}), list("pad", {0, 0, 0, 0}), groups};
}

}  // namespace

void require_float32(Op op) {
  for (const auto& values : {op.operands(), op.results()}) {
    for (const Value value : values) {
      if (value && value.dtype() != DType::f32)
        fail(errors::no_c_form(op.where(), fmt::format("{} on {}", op.info().name, name(value.dtype()))));
    }
  }
}

void add_pointwise(Body& body, Op op) {
  require_float32(op);
  const std::vector<Value> operands = op.operands();
  if (operands.size() > 2 || op.info().has_variadic_input())
    fail(errors::no_c_form(op.where(), fmt::format("{} of {} operands", op.info().name, operands.size())));
  body.uses_floats = body.uses_math = true;
  Words words = {{"what", op.info().name + ", by element."},
                 {"from", "float"},
                 {"to", "float"},
                 {"a_type", "float"},
                 {"b_type", "float"},
                 {"function", function_of(op)},
                 {"expression", expression_of(op)},
                 {"port", op.info().inputs[0].name}};
  if (operands.size() == 1) {
    body.kernels.use("pointwise", words);
    const std::string x = memory_of(body, op, operands[0], "x"), y = body.write(op.out(0));
    return body.say(fmt::format("{}({}, {}, {});", words["function"], x, y, count_elements(op.out(0).dims())));
  }
  words["a"] = op.info().inputs[0].name;
  words["b"] = op.info().inputs[1].name;
  body.kernels.use("broadcast");
  body.kernels.use("pointwise_of_two", words);
  const std::string extents = broadcast_object(body, op, operands[0], operands[1]);
  const std::string a = memory_of(body, op, operands[0], "a"), b = memory_of(body, op, operands[1], "b");
  body.say(fmt::format("{}({}, {}, {}, {});", words["function"], a, b, body.write(op.out(0)), extents));
}

void add_float_layer(Body& body, Op op) {
  require_float32(op);
  const Value w = op.in(op.info().input("w")), b = op.in(op.info().input("b")), x = op.in(0);
  if (!w.is_tensor() || (b && !b.is_tensor()))
    fail(errors::no_c_form(op.where(), op.info().name + " with computed weights"));
  if (x.dims().size() != (op.is<ops::Conv2d>() ? 4U : 2U))
    fail(errors::no_c_form(op.where(), fmt::format("{} on {}", op.info().name, to_string(x.type()))));
  body.uses_floats = true;
  body.kernels.use("window");
  body.kernels.use("fallbacks/float_layer");
  const Dims kernel = op.is<ops::Conv2d>() ? Dims{w.dims()[2], w.dims()[3]} : Dims{1, 1};
  const std::string window = window_object(body, op, x, op.out(0), window_of(op, kernel));
  const std::string weights = memory_of(body, op, w, "w");
  const std::string bias = b ? memory_of(body, op, b, "b") : "NULL";
  body.weight_bytes += body.contents(w).bytes();
  const std::string from = body.read(x);
  body.say(fmt::format("float_layer({}, {}, {}, {}, {});", from, body.write(op.out(0)), window, weights, bias));
}

void add_float_mean(Body& body, Op op) {
  require_float32(op);
  body.uses_floats = true;
  body.kernels.use("window");
  body.kernels.use("fallbacks/float_mean");
  const Dims& x = op.in(0).dims();
  const bool is_global = op.is<ops::GlobalAvgPool>();
  const bool counts_padding = is_global || get<bool>(op.attributes(), "count_include_pad");
  Dims kernel = {x[2], x[3]};
  if (!is_global) {
    const auto& list = get<std::vector<int64_t>>(op.attributes(), "kernel");
    kernel.assign(list.begin(), list.end());
  }
  const std::string window = window_object(body, op, op.in(0), op.out(0), window_of(op, kernel));
  const std::string from = body.read(op.in(0));
  body.say(fmt::format("float_mean({}, {}, {}, {});", from, body.write(op.out(0)), window, counts_padding ? 1 : 0));
}

}  // namespace halfstep::formats::c
