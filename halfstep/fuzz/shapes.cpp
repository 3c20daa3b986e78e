// What a file knows by itself: extents, constants, branches and iterations.
#include <algorithm>
#include <cmath>

#include "halfstep/formats/onnx/export_graph.h"
#include "halfstep/fuzz/recipe.h"

namespace halfstep::fuzz {
namespace {

namespace proto = formats::onnx::proto;
constexpr int32_t kGraph = 5, kTensor = 4;  // AttributeProto.AttributeType

Known whole(Dims dims) {
  Known value;
  value.dtype = DType::i64;
  value.dims = std::move(dims);
  return value.between(0, 8);
}

/// Numbers are of use to a network once they are in it: behind a cast, added to something.
void use(Maker& maker, const Known& number) {
  Known real =
      number.dtype == DType::f32 ? number : maker.node("Cast", {number}, number.with(DType::f32), {{"to", int64_t{1}}});
  const Known x = maker.any({{DType::f32}, 0, 4, [&](const Known& v) {
                               try {
                                 return broadcast(v.dims, real.dims) == v.dims && (!v.rows || v.rank() > real.rank());
                               } catch (const Unsuited&) {
                                 return false;
                               }
                             }});
  maker.node("Add", {x, real}, x.between(x.low + number.low, x.high + number.high));
}

void make_shape(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}, 1, 5});
  maker.require(!maker.keeps_rows(x) || !maker.style().open_batch);
  if (op == "Size") {
    use(maker, maker.node(op, {x}, whole({})));
    return;
  }
  if (maker.opset() >= 15 && maker.chance(0.5)) {
    const int64_t start = maker.between(0, x.rank() - 1), end = maker.between(start, x.rank());
    const Known part =
        maker.node(op, {x}, whole({end - start}), {{"start", maker.perhaps_negative(start, x.rank())}, {"end", end}});
    if (end > start) use(maker, maker.node("ReduceMax", {part}, whole({1})));
  } else {
    use(maker, maker.node("ReduceMax", {maker.node(op, {x}, whole({x.rank()}))}, whole({1})));
  }
}

void make_constant(Maker& maker, std::string_view op) {
  Known value;
  Attributes attributes;
  const int64_t form = maker.opset() >= 12 ? maker.between(0, 3) : 0;
  if (form == 0) {
    value.dims = maker.some_dims(maker.between(0, 2), 20);
    value = maker.weights(DType::f32, value.dims, -1, 1);
    maker.require(maker.has_nodes() && maker.last_node().op_type() == op && maker.last_node().output(0) == value.name);
  } else if (form == 1) {
    value = maker.node(op, {}, value, {{"value_float", maker.real(-1, 1)}});
  } else if (form == 2) {
    value.dims = {2};
    value = maker.node(op, {}, value, {{"value_floats", std::vector<double>{0.5, -0.25}}});
  } else {
    value = maker.node(op, {}, whole({1}), {{"value_ints", Dims{maker.between(0, 3)}}});
  }
  use(maker, value);
}

void make_constant_of_shape(Maker& maker, std::string_view op) {
  const Dims dims = maker.some_dims(maker.between(0, 2), 20);
  Known value;
  value.dims = dims;
  const double number = maker.chance(0.3) ? 0 : maker.real(-1, 1);
  value = maker.node(op, {maker.ints(dims)}, value.between(number, number));
  if (number != 0 || maker.chance(0.3)) {
    Tensor one(DType::f32, {1});
    one.data<float>()[0] = static_cast<float>(number);
    auto& attribute = *maker.last_node().add_attribute();
    attribute.set_name("value");
    attribute.set_type(kTensor);
    formats::onnx::write_tensor("", one, *attribute.mutable_t());
  }
  use(maker, value);
}

void make_range(Maker& maker, std::string_view op) {
  const int64_t start = maker.between(-3, 3), step = maker.chance(0.3) ? -maker.between(1, 2) : maker.between(1, 2),
                count = maker.between(0, 6);
  const DType dtype = maker.chance(0.5) ? DType::i64 : DType::f32;
  Known value = whole({count}).with(dtype);
  const Known from = maker.scalar(static_cast<double>(start), dtype, {});
  const Known to = maker.scalar(static_cast<double>(start + count * step), dtype, {});
  const Known by = maker.scalar(static_cast<double>(step), dtype, {});
  use(maker, maker.node(op, {from, to, by}, value));
}

void make_non_zero(Maker& maker, std::string_view op) {
  const Known x = maker.weights(DType::f32, maker.some_dims(maker.between(1, 2), 12), -1, 1);
  const Known places = maker.node(op, {x}, whole({x.rank(), maker.between(1, 4)}));
  maker.forget(places);
  // How many there are only its contents say; a sum of each row has extents that are known.
  const Known sums =
      maker.opset() >= 13
          ? maker.node("ReduceSum", {places, maker.ints({1})}, whole({x.rank()}), {{"keepdims", int64_t{0}}})
          : maker.node("ReduceSum", {places}, whole({x.rank()}), {{"keepdims", int64_t{0}}, {"axes", Dims{1}}});
  use(maker, sums);
}

void make_suppression(Maker& maker, std::string_view op) {
  const int64_t count = maker.between(1, 8), classes = maker.between(1, 2);
  const Known boxes = maker.weights(DType::f32, {1, count, 4}, 0, 3),
              scores = maker.weights(DType::f32, {1, classes, count}, 0, 1);
  const Known most = maker.ints({maker.between(1, 4)}), overlap = maker.scalar(0.5, DType::f32, {1}),
              least = maker.scalar(0.1, DType::f32, {1});
  Attributes attributes;
  if (maker.chance(0.4)) attributes["center_point_box"] = int64_t{1};
  const Known chosen = maker.node(op, {boxes, scores, most, overlap, least}, whole({1, 3}), attributes);
  maker.forget(chosen);
  const Known last = maker.opset() >= 13
                         ? maker.node("ReduceSum", {chosen, maker.ints({0})}, whole({3}), {{"keepdims", int64_t{0}}})
                         : maker.node("ReduceSum", {chosen}, whole({3}), {{"keepdims", int64_t{0}}, {"axes", Dims{0}}});
  use(maker, last);
}

void make_there(Maker& maker, std::string_view op) {
  const Known x = maker.any({{DType::f32}});
  Known there;
  there.dtype = DType::boolean;
  use(maker, maker.node(op, {x}, there.between(0, 1)));
}

void add_graph(proto::Node& node, const std::string& name, const proto::Graph& graph) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(kGraph);
  *attribute.mutable_g() = graph;
}

proto::Node& inner_node(Maker& maker, proto::Graph& graph, const std::string& op,
                        const std::vector<std::string>& inputs) {
  auto& node = *graph.add_node();
  node.set_op_type(op);
  for (const auto& name : inputs) node.add_input(name);
  node.add_output(maker.fresh_name("inner"));
  return node;
}

proto::Graph branch(Maker& maker, const Known& x) {
  proto::Graph graph;
  graph.set_name("branch");
  auto& node = inner_node(maker, graph, maker.one_of<std::string>({"Relu", "Neg", "Abs", "Identity"}), {x.name});
  formats::onnx::write_type(node.output(0), {x.dtype, x.dims}, *graph.add_output());
  return graph;
}

/// Whether the largest element is above a number in its range: only a run tells.
Known condition_on(Maker& maker, const Known& x) {
  Known largest, above;
  above.dtype = DType::boolean;
  largest = maker.node("ReduceMax", {x}, largest.between(x.low, x.high), {{"keepdims", int64_t{0}}});
  const Known bound = maker.scalar(maker.real(x.low, x.high), DType::f32, {});
  above = maker.node("Greater", {largest, bound}, above.between(0, 1));
  maker.forget(above);
  return above;
}

/// The same of a value in a graph inside.
std::string inner_condition(Maker& maker, proto::Graph& graph, const std::string& x, double bound) {
  auto& largest = inner_node(maker, graph, "ReduceMax", {x});
  formats::onnx::write_attribute("keepdims", int64_t{0}, *largest.add_attribute());
  const std::string name = largest.output(0);
  return inner_node(maker, graph, "Greater", {name, maker.scalar(bound, DType::f32, {}).name}).output(0);
}

void make_if(Maker& maker, std::string_view op) {
  const Known x =
      maker.any({{DType::f32}, 1, 4, [&](const Known& v) { return !(v.rows && maker.style().open_batch); }});
  const Known which = maker.chance(0.5) ? condition_on(maker, x)
                                        : maker.scalar(static_cast<double>(maker.between(0, 1)), DType::boolean, {});
  const double reach = std::max(std::abs(x.low), std::abs(x.high));
  maker.node(op, {which, x}, x.between(-reach, reach));
  auto& node = maker.last_node();
  node.mutable_input()->RemoveLast();  // x is seen from inside
  const proto::Graph first = branch(maker, x), second = branch(maker, x);
  add_graph(node, "then_branch", first);
  add_graph(node, "else_branch", second);
}

void make_loop(Maker& maker, std::string_view op) {
  const Known x =
      maker.any({{DType::f32}, 1, 4, [&](const Known& v) { return !(v.rows && maker.style().open_batch); }});
  const int64_t trips = maker.between(1, 3);
  const bool is_open = maker.chance(0.5);
  const Known times = maker.scalar(static_cast<double>(trips), DType::i64, {}),
              goes_on = is_open ? condition_on(maker, x) : maker.scalar(1, DType::boolean, {});
  const Known one = maker.weights(DType::f32, {1}, -1, 1);
  const double reach = static_cast<double>(trips);
  maker.node(op, {times, goes_on, x}, x.between(x.low - reach, x.high + reach));
  proto::Graph body;
  body.set_name("body");
  const std::string number = maker.fresh_name("trip"), condition = maker.fresh_name("condition"),
                    carried = maker.fresh_name("carried");
  formats::onnx::write_type(number, {DType::i64, {}}, *body.add_input());
  formats::onnx::write_type(condition, {DType::boolean, {}}, *body.add_input());
  formats::onnx::write_type(carried, {x.dtype, x.dims}, *body.add_input());
  const std::string sum = inner_node(maker, body, "Add", {carried, one.name}).output(0);
  const std::string next = is_open ? inner_condition(maker, body, sum, maker.real(x.low, x.high))
                                   : inner_node(maker, body, "Identity", {condition}).output(0);
  formats::onnx::write_type(next, {DType::boolean, {}}, *body.add_output());
  formats::onnx::write_type(sum, {x.dtype, x.dims}, *body.add_output());
  add_graph(maker.last_node(), "body", body);
}

/// Running sums along the first axis, from a state on.
void make_scan(Maker& maker, std::string_view op) {
  const Known x =
      maker.any({{DType::f32}, 1, 4, [&](const Known& v) { return !v.rows && v.dims[0] >= 1 && v.dims[0] <= 16; }});
  const Dims row(x.dims.begin() + 1, x.dims.end());
  const Known start = maker.weights(DType::f32, row, -1, 1);
  const double reach = static_cast<double>(x.dims[0]) * std::max(std::abs(x.low), std::abs(x.high)) + 1;
  Known sums = x;
  const std::vector<Known> made = maker.nodes(
      op, {start, x}, {start.between(-reach, reach), sums.between(-reach, reach)}, {{"num_scan_inputs", int64_t{1}}});
  maker.forget(made[0]);
  proto::Graph body;
  body.set_name("body");
  const std::string state = maker.fresh_name("state"), element = maker.fresh_name("element");
  for (const std::string& name : {state, element}) formats::onnx::write_type(name, {x.dtype, row}, *body.add_input());
  const std::string sum = inner_node(maker, body, "Add", {state, element}).output(0);
  const std::string again = inner_node(maker, body, "Identity", {sum}).output(0);
  for (const std::string& name : {sum, again}) formats::onnx::write_type(name, {x.dtype, row}, *body.add_output());
  add_graph(maker.last_node(), "body", body);
}

}  // namespace

Recipes shape_recipes() {
  return {{"Shape", make_shape},
          {"Size", make_shape},
          {"Constant", make_constant, Home::floats, 9},
          {"ConstantOfShape", make_constant_of_shape, Home::floats, 9},
          {"Range", make_range, Home::floats, 11},
          {"NonZero", make_non_zero, Home::floats, 9},
          {"NonMaxSuppression", make_suppression, Home::floats, 10},
          {"OptionalHasElement", make_there, Home::floats, 18},
          {"If", make_if, Home::floats, 11},
          {"Loop", make_loop, Home::floats, 11},
          {"Scan", make_scan, Home::floats, 11}};
}

}  // namespace halfstep::fuzz
