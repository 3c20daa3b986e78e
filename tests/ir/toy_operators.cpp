// A table of operators in the form that opgen writes, with one of everything: an optional, a variadic and a conditional
// input, a state pair, no output, regions, and attributes of every type.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/errors.h"
#include "halfstep/core/ir/op_info.h"

namespace halfstep {
namespace {

bool unless_test(const Attributes& attributes) { return !get<bool>(attributes, "is_test"); }

const Type& in(const OpSite& site, size_t port) { return *site.in[port]; }

std::vector<Type> like_first(const OpSite& site) { return {in(site, 0)}; }

std::vector<Type> infer_relu(const OpSite& site) {
  if (!is_float(in(site, 0).dtype))
    fail(errors::operand_dtype(site.where, "relu", "x", name(in(site, 0).dtype), "float"));
  return like_first(site);
}

std::vector<Type> infer_linear(const OpSite& site) {
  const Dims& x = in(site, 0).dims;
  const Dims& w = in(site, 1).dims;
  if (x.size() != 2 || w.size() != 2)
    fail(errors::operand_ranks(site.where, "linear", fmt::format("{} and {}", x.size(), w.size()), "2 each"));
  if (x[1] != kUnknown && w[1] != kUnknown && x[1] != w[1])
    fail(errors::operator_rule(site.where, "linear", "c1", fmt::format("k = {}, i = {}", x[1], w[1]), "k == i"));
  return {{in(site, 0).dtype, {x[0], w[0]}}};
}

std::vector<Type> infer_concat(const OpSite& site) {
  Type type = in(site, 0);
  const int64_t axis = get<int64_t>(site.attributes, "axis");
  if (axis < 0 || axis >= static_cast<int64_t>(type.dims.size()))
    fail(errors::axis_missing(site.where, "concat", axis, type.dims.size()));
  int64_t& extent = type.dims[static_cast<size_t>(axis)];
  for (size_t i = 1; i < site.in.size(); ++i) {
    const int64_t more = in(site, i).dims.at(static_cast<size_t>(axis));
    extent = extent == kUnknown || more == kUnknown ? kUnknown : extent + more;
  }
  return {type};
}

std::vector<Type> infer_observe(const OpSite& site) {
  return {in(site, 0), {DType::f32, {get<int64_t>(site.attributes, "scales")}}};
}

std::vector<Type> infer_nothing(const OpSite& /*site*/) { return {}; }

PortInfo port(std::string name, bool optional = false, bool variadic = false, int state_of = -1) {
  return {.name = std::move(name), .optional = optional, .variadic = variadic, .state_of = state_of};
}

OpInfo concat() {
  OpInfo info;
  info.name = "concat";
  info.inputs = {port("x", false, true)};
  info.outputs = {port("out")};
  info.attributes = {{"axis", int64_t{0}, true, {}}};
  info.infer = infer_concat;
  return info;
}

OpInfo conditional() {
  OpInfo info;
  info.name = "if";
  info.inputs = {port("cond")};
  info.outputs = {port("out")};
  info.regions = {"then", "else"};
  info.infer = like_first;
  return info;
}

OpInfo linear() {
  OpInfo info;
  info.name = "linear";
  info.inputs = {port("x"), port("w"), port("b", true)};
  info.outputs = {port("out")};
  info.infer = infer_linear;
  return info;
}

OpInfo observe() {
  OpInfo info;
  info.name = "observe";
  info.inputs = {port("x"), port("in_scale"), port("iter")};
  info.outputs = {port("out"), port("out_scale", false, false, 1)};
  info.attributes = {{"is_test", false, false, {}}, {"momentum", 0.9, false, {}}, {"scales", int64_t{1}, false, {}}};
  info.input_present = {nullptr, nullptr, unless_test};
  info.output_present = {nullptr, unless_test};
  info.infer = infer_observe;
  info.foreign = {{"paddle", "toy_observe", {}}};
  return info;
}

OpInfo relu() {
  OpInfo info;
  info.name = "relu";
  info.inputs = {port("x")};
  info.outputs = {port("out")};
  info.infer = infer_relu;
  return info;
}

OpInfo settings() {
  OpInfo info;
  info.name = "settings";
  info.inputs = {port("x")};
  info.outputs = {port("out")};
  info.attributes = {{"on", false, false, {}},
                     {"count", int64_t{1}, false, {}},
                     {"ratio", 0.5, false, {}},
                     {"mode", std::string("fast"), false, {"fast", "exact"}},
                     {"text", std::string(), false, {}},
                     {"pad", std::vector<int64_t>{1, 1}, false, {}},
                     {"scales", std::vector<double>{1.0}, false, {}},
                     {"names", std::vector<std::string>{}, false, {}}};
  info.infer = like_first;
  return info;
}

OpInfo sink() {
  OpInfo info;
  info.name = "sink";
  info.inputs = {port("param")};  // keywords of the text form are not reserved in the records
  info.attributes = {{"at", int64_t{0}, false, {}}};
  info.infer = infer_nothing;
  return info;
}

}  // namespace

std::span<const OpInfo> all_operators() {
  static const std::vector<OpInfo> table = {concat(), conditional(), linear(), observe(), relu(), settings(), sink()};
  return table;
}

const OpInfo* find_operator(std::string_view name) {
  const auto all = all_operators();
  const auto found = std::find_if(all.begin(), all.end(), [&](const OpInfo& info) { return info.name == name; });
  return found == all.end() ? nullptr : &*found;
}

const OpInfo* find_foreign_operator(std::string_view format, std::string_view foreign_name) {
  for (const OpInfo& info : all_operators()) {
    for (const ForeignInfo& foreign : info.foreign) {
      if (foreign.format == format && foreign.op == foreign_name) return &info;
    }
  }
  return nullptr;
}

}  // namespace halfstep
