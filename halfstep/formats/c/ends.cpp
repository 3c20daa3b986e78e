// Conversion between float values and codes.
#include <fmt/format.h>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/c/operators.h"
#include "halfstep/formats/c/orders.h"

namespace halfstep::formats::c {
namespace {

/// Adds loops over all elements: from the network's order to the memory order, back, or without reordering.
std::string order_object(Body& body, const std::string& hint, Value codes, bool reorders, bool to_memory) {
  const auto places = stored_places(codes.dims(), reorders && body.is_image(codes));
  std::vector<Step> steps;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    steps.push_back(to_memory ? Step{places[i], index} : Step{index, places[i]});
  }
  std::ranges::sort(steps, {}, &Step::to);
  const std::vector<Nest> nests = nests_of(steps);
  HS_CHECK(nests.size() == 1);
  body.kernels.use("move");
  return nests_object(body, hint, nests);
}

float scale_of(Body& body, Value scale) { return body.contents(scale).data<float>()[0]; }
int32_t zero_of(Body& body, Value zero) { return body.contents(zero).data<int32_t>()[0]; }

/// Returns the terms that quantize.c adds and subtracts for the remainder beside an integer.
std::pair<std::string, std::string> rounding_text(const std::string& rounding) {
  if (rounding == "half_even")
    return {"rest >= 0.5f && (rest > 0.5f || whole % 2 != 0)", "rest <= -0.5f && (rest < -0.5f || whole % 2 != 0)"};
  if (rounding == "half_away") return {"rest >= 0.5f", "rest <= -0.5f"};
  return {"rest >= 0.5f", "rest < -0.5f"};
}

}  // namespace

std::string quantize_call(Body& body, Op op, const std::string& from, const std::string& to, bool reorders) {
  const ops::Quantize quantize(op.node());
  const bool divides = quantize.method() == "divide";
  const auto [up, down] = rounding_text(quantize.rounding());
  const std::string type = tag(quantize.out().dtype());
  const Words words = {{"y", c_type(quantize.out().dtype())},
                       {"quantize", fmt::format("quantize_{}_{}_{}", type, quantize.method(), quantize.rounding())},
                       {"quotient", divides ? "quotient" : "product with the reciprocal"},
                       {"rounding", quantize.rounding()},
                       {"by", divides ? "/" : "*"},
                       {"up", up},
                       {"down", down}};
  const std::string order = order_object(body, name_of(op.name(), "order"), quantize.out(), reorders, true);
  body.kernels.use("quantize", words);
  const float scale = scale_of(body, quantize.scale());
  return fmt::format("{}({}, {}, {}, {}, {}, {}, {});", words.at("quantize"), from, to, order,
                     c_number(divides ? scale : 1.0F / scale), zero_of(body, quantize.zero_point()),
                     quantize.code_min(), quantize.code_max());
}

std::string dequantize_call(Body& body, Op op, const std::string& from, const std::string& to, bool reorders) {
  const ops::Dequantize dequantize(op.node());
  const std::string type = tag(dequantize.x().dtype());
  const Words words = {{"x", c_type(dequantize.x().dtype())}, {"dequantize", "dequantize_" + type}};
  const std::string order = order_object(body, name_of(op.name(), "order"), dequantize.x(), reorders, false);
  body.kernels.use("dequantize", words);
  return fmt::format("{}({}, {}, {}, {}, {});", words.at("dequantize"), from, to, order,
                     c_number(scale_of(body, dequantize.scale())), zero_of(body, dequantize.zero_point()));
}

void add_quantize(Body& body, Op op) {
  body.uses_floats = true;
  const ops::Quantize quantize(op.node());
  const std::string x = body.read(quantize.x()), y = body.write(quantize.out());
  body.say(quantize_call(body, op, x, y, false));
}

void add_dequantize(Body& body, Op op) {
  body.uses_floats = true;
  const ops::Dequantize dequantize(op.node());
  const std::string x = body.read(dequantize.x()), y = body.write(dequantize.out());
  body.say(dequantize_call(body, op, x, y, false));
}

}  // namespace halfstep::formats::c
