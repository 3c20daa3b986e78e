// Branches and loops, also nested, with conditions known at import or only at run time.
#include <algorithm>
#include <cmath>

#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx_export/export_graph.h"
#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

namespace proto = formats::onnx::proto;
constexpr int32_t kGraph = 5;  // AttributeProto.AttributeType

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

/// Whether the largest element is above a bound in its range, known only at run time.
Known condition_on(Maker& maker, const Known& x) {
  Known largest, above;
  above.dtype = DType::boolean;
  largest = maker.node("ReduceMax", {x}, largest.between(x.low, x.high), {{"keepdims", int64_t{0}}});
  const Known bound = maker.scalar(maker.real(x.low, x.high), DType::f32, {});
  above = maker.node("Greater", {largest, bound}, above.between(0, 1));
  maker.forget(above);
  return above;
}

/// Such a condition on a value in a nested graph.
std::string inner_condition(Maker& maker, proto::Graph& graph, const std::string& x, double bound) {
  auto& largest = inner_node(maker, graph, "ReduceMax", {x});
  formats::onnx::write_attribute("keepdims", int64_t{0}, *largest.add_attribute());
  const std::string name = largest.output(0);
  return inner_node(maker, graph, "Greater", {name, maker.scalar(bound, DType::f32, {}).name}).output(0);
}

/// Nested graphs. All values have the type of x, and their elements stay in its range.
class Inner {
 public:
  Inner(Maker& maker, const Known& x) : maker_(maker), x_(x) {}

  /// Maximum nesting depth. Any nesting mixes rows, and needs elements for a maximum.
  int depth() {
    return !is_full(x_) || maker_.keeps_rows(x_) || x_.rows ? 0 : maker_.one_of<int>({0, 0, 0, 1, 1, 2, 3});
  }

  /// A branch that computes a value from the values `seen` around it.
  proto::Graph branch(const std::vector<std::string>& seen, int depth) {
    proto::Graph graph;
    graph.set_name("branch");
    give(graph, value(graph, seen, depth), {x_.dtype, x_.dims});
    return graph;
  }

  /// A value computed in `graph` from `seen`, with `depth` nested graphs.
  std::string value(proto::Graph& graph, const std::vector<std::string>& seen, int depth) {
    if (depth == 0 && !growing_.empty() && maker_.chance(0.5))
      return shared(graph, maker_.one_of(seen), maker_.one_of(growing_));
    if (depth == 0)
      return inner_node(maker_, graph, maker_.one_of<std::string>({"Relu", "Neg", "Abs", "Identity"}),
                        {maker_.one_of(seen)})
          .output(0);
    const int kind = static_cast<int>(maker_.between(0, 2));
    const std::string made = kind == 0   ? branches(graph, seen, depth)
                             : kind == 1 ? loop(graph, seen, depth)
                                         : scan(graph, seen, depth);
    return mean(graph, made, maker_.one_of(seen));
  }

  static void give(proto::Graph& graph, const std::string& name, const Type& type) {
    formats::onnx::write_type(name, type, *graph.add_output(), true);
  }
  std::string take(proto::Graph& graph, const std::string& hint, const Type& type) {
    std::string name = maker_.fresh_name(hint);
    formats::onnx::write_type(name, type, *graph.add_input(), true);
    return name;
  }

 private:
  Type type() const { return {x_.dtype, x_.dims}; }

  std::string mean(proto::Graph& graph, const std::string& a, const std::string& b) {
    const std::string sum = inner_node(maker_, graph, "Add", {a, b}).output(0);
    return inner_node(maker_, graph, "Mul", {sum, maker_.scalar(0.5, DType::f32, {}).name}).output(0);
  }
  std::string condition(proto::Graph& graph, const std::string& of) {
    return inner_condition(maker_, graph, of, maker_.real(x_.low, x_.high));
  }

  /// `x` divided by the number of rows or elements of `growing`.
  std::string shared(proto::Graph& graph, const std::string& x, const std::string& growing) {
    const bool all = maker_.chance(0.3);
    std::string count = inner_node(maker_, graph, all ? "Size" : "Shape", {growing}).output(0);
    if (!all) count = inner_node(maker_, graph, "Gather", {count, maker_.scalar(0, DType::i64, {}).name}).output(0);
    proto::Node& real = inner_node(maker_, graph, "Cast", {count});
    formats::onnx::write_attribute("to", formats::onnx::onnx_type_of(DType::f32), *real.add_attribute());
    const std::string divisor = real.output(0);
    return inner_node(maker_, graph, "Div", {x, divisor}).output(0);
  }
  /// The last row, which is broadcast.
  std::string last_row(proto::Graph& graph, const std::string& rows) {
    return inner_node(maker_, graph, "Gather", {rows, maker_.scalar(-1, DType::i64, {}).name}).output(0);
  }
  std::string joined(proto::Graph& graph, const std::string& a, const std::string& b) {
    proto::Node& node = inner_node(maker_, graph, "Concat", {a, b});
    formats::onnx::write_attribute("axis", int64_t{0}, *node.add_attribute());
    return node.output(0);
  }

  std::string branches(proto::Graph& graph, const std::vector<std::string>& seen, int depth) {
    const std::string on = condition(graph, maker_.one_of(seen));
    const proto::Graph then = branch(seen, depth - 1), otherwise = branch(seen, depth - 1);
    proto::Node& node = inner_node(maker_, graph, "If", {on});
    add_graph(node, "then_branch", then);
    add_graph(node, "else_branch", otherwise);
    return node.output(0);
  }

  std::string loop(proto::Graph& graph, std::vector<std::string> seen, int depth) {
    const std::string count = maker_.scalar(static_cast<double>(maker_.between(0, 3)), DType::i64, {}).name;
    const bool is_open = maker_.chance(0.5);
    const std::string first = is_open ? condition(graph, maker_.one_of(seen)) : "", start = maker_.one_of(seen);
    proto::Graph body;
    body.set_name("body");
    take(body, "trip", {DType::i64, {}});
    const std::string going = take(body, "condition", {DType::boolean, {}}), carried = take(body, "carried", type());
    seen.push_back(carried);
    Type rows = type();
    rows.dims[0] = kUnknown;
    const bool grows = maker_.chance(0.4);  // a further state has more rows after each iteration
    if (grows) growing_.push_back(take(body, "growing", rows));
    std::string next = mean(body, carried, value(body, seen, depth - 1));
    if (grows) next = mean(body, next, last_row(body, growing_.back()));
    give(body, is_open ? condition(body, next) : inner_node(maker_, body, "Identity", {going}).output(0),
         {DType::boolean, {}});
    give(body, next, type());
    if (grows) give(body, joined(body, growing_.back(), next), rows);
    proto::Node& node = inner_node(maker_, graph, "Loop", {count, first, start});
    add_graph(node, "body", body);
    if (!grows) return node.output(0);
    growing_.pop_back();
    node.add_input(start);
    const std::string last = node.output(0), grown = maker_.fresh_name("inner");
    node.add_output(grown);
    return mean(graph, last, last_row(graph, grown));
  }

  std::string scan(proto::Graph& graph, std::vector<std::string> seen, int depth) {
    Dims rows = x_.dims;
    rows.insert(rows.begin(), maker_.between(1, 3));
    const std::string scanned = maker_.weights(DType::f32, rows, x_.low, x_.high).name, start = maker_.one_of(seen);
    proto::Graph body;
    body.set_name("body");
    const std::string state = take(body, "state", type()), element = take(body, "element", type());
    seen.insert(seen.end(), {state, element});
    const std::string next = mean(body, state, value(body, seen, depth - 1));
    give(body, next, type());
    proto::Node& node = inner_node(maker_, graph, "Scan", {start, scanned});
    formats::onnx::write_attribute("num_scan_inputs", int64_t{1}, *node.add_attribute());
    add_graph(node, "body", body);
    return node.output(0);
  }

  Maker& maker_;
  const Known& x_;
  std::vector<std::string> growing_;  ///< states of the surrounding loops that have more rows after each iteration
};

void make_if(Maker& maker, std::string_view op) {
  const Known x =
      maker.any({{DType::f32}, 1, 4, [&](const Known& v) { return !(v.rows && maker.style().dynamic_batch); }});
  Inner inner(maker, x);
  const int depth = inner.depth();
  const Known which = maker.chance(0.5) ? condition_on(maker, x)
                                        : maker.scalar(static_cast<double>(maker.between(0, 1)), DType::boolean, {});
  const double magnitude = std::max(std::abs(x.low), std::abs(x.high));
  const proto::Graph first = inner.branch({x.name}, depth), second = inner.branch({x.name}, depth);
  maker.node(op, {which, x}, x.between(-magnitude, magnitude));
  auto& node = maker.last_node();
  node.mutable_input()->RemoveLast();  // nested graphs read x from the surrounding graph
  add_graph(node, "then_branch", first);
  add_graph(node, "else_branch", second);
}

void make_loop(Maker& maker, std::string_view op) {
  const Known x =
      maker.any({{DType::f32}, 1, 4, [&](const Known& v) { return !(v.rows && maker.style().dynamic_batch); }});
  const int64_t trips = maker.between(1, 3);
  const bool is_open = maker.chance(0.5);
  const Known times = maker.scalar(static_cast<double>(trips), DType::i64, {}),
              goes_on = is_open ? condition_on(maker, x) : maker.scalar(1, DType::boolean, {});
  const Known one = maker.weights(DType::f32, {1}, -1, 1);
  const double magnitude = static_cast<double>(trips);
  proto::Graph body;
  body.set_name("body");
  const std::string number = maker.fresh_name("trip"), condition = maker.fresh_name("condition"),
                    carried = maker.fresh_name("carried");
  formats::onnx::write_type(number, {DType::i64, {}}, *body.add_input());
  formats::onnx::write_type(condition, {DType::boolean, {}}, *body.add_input());
  formats::onnx::write_type(carried, {x.dtype, x.dims}, *body.add_input());
  Inner inner(maker, x);
  const int depth = inner.depth();
  const std::string made = depth == 0 ? carried : inner.value(body, {x.name, carried}, depth);
  const std::string sum = inner_node(maker, body, "Add", {made, one.name}).output(0);
  const std::string next = is_open ? inner_condition(maker, body, sum, maker.real(x.low, x.high))
                                   : inner_node(maker, body, "Identity", {condition}).output(0);
  formats::onnx::write_type(next, {DType::boolean, {}}, *body.add_output());
  formats::onnx::write_type(sum, {x.dtype, x.dims}, *body.add_output());
  maker.node(op, {times, goes_on, x}, x.between(x.low - magnitude, x.high + magnitude));
  add_graph(maker.last_node(), "body", body);
}

/// Running sums along the first axis, starting from a state.
void make_scan(Maker& maker, std::string_view op) {
  const Known x =
      maker.any({{DType::f32}, 1, 4, [&](const Known& v) { return !v.rows && v.dims[0] >= 1 && v.dims[0] <= 16; }});
  const Dims row(x.dims.begin() + 1, x.dims.end());
  const Known start = maker.weights(DType::f32, row, -1, 1);
  const double magnitude = static_cast<double>(x.dims[0]) * std::max(std::abs(x.low), std::abs(x.high)) + 1;
  Known sums = x;
  const std::vector<Known> made =
      maker.nodes(op, {start, x}, {start.between(-magnitude, magnitude), sums.between(-magnitude, magnitude)},
                  {{"num_scan_inputs", int64_t{1}}});
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

Recipes flow_recipes() {
  return {
      {"If", make_if, Home::floats, 11}, {"Loop", make_loop, Home::floats, 11}, {"Scan", make_scan, Home::floats, 11}};
}

}  // namespace halfstep::fuzz
