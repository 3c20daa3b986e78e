// Elements and blocks of elements that are read or written at computed indices.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/c/errors.h"
#include "halfstep/formats/c/operators.h"
#include "halfstep/formats/c/strides.h"

namespace halfstep::formats::c {
namespace {

std::string scatter_reduction(Op op) {
  const auto found = op.attributes().find("reduction");
  return found == op.attributes().end() ? "" : std::get<std::string>(found->second);
}

/// Returns the statement that writes `update` to `place` of the result.
std::string store_text(Op op, const std::string& place, const std::string& update) {
  const std::string reduction = scatter_reduction(op);
  if (reduction == "none") return fmt::format("to[{}] = {};", place, update);
  if (reduction == "max" || reduction == "min")
    return fmt::format("if ({1} {2} to[{0}]) to[{0}] = {1};", place, update, reduction == "max" ? ">" : "<");
  fail(errors::no_c_form(op.where(), fmt::format("{} with reduction '{}'", op.info().name, reduction)));
}

/// Extremes of floats have rules for NaN, which the kernels lack.
void require_comparable(Op op) {
  const std::string reduction = scatter_reduction(op);
  const bool compares = !reduction.empty() && reduction != "none";
  if (compares && is_float(op.out(0).dtype()))
    fail(errors::no_c_form(op.where(), fmt::format("{} of {}", op.info().name, name(op.out(0).dtype()))));
}

/// Copies x to the result, in the order of the result.
void say_copy(Body& body, Op op, Value x, const std::string& to) {
  const std::string from =
      x.is_tensor() ? contents_object(body, name_of(op.name(), "x"), body.contents(x), body.is_image(op.out(0)))
                    : body.read(x);
  body.say(fmt::format("memcpy({}, {}, sizeof *{} * {});", to, from, to, count_elements(x.dims())));
}

/// Returns the name of a function of text/FORM.c, with operator, types and reduction.
std::string indexed_function(const char* form, Op op, Value indices) {
  const std::string reduction = scatter_reduction(op);
  return fmt::format("{}_{}_{}_{}{}", form, op.info().name, tag(op.out(0).dtype()), tag(indices.dtype()),
                     reduction.empty() ? "" : "_" + reduction);
}

/// `other` is indexed like the indices, and `x` along its axis by them.
std::string elements_object(Body& body, Op op, Value indices, Value other, Value x) {
  const auto axis = get<int64_t>(op.attributes(), "axis");
  const auto along = static_cast<size_t>(axis < 0 ? axis + std::ssize(x.dims()) : axis);
  const std::vector<int64_t> index = strides(body, indices), step = strides(body, other), of_x = strides(body, x);
  Loops loops{{}, {{}, {}, {}}};
  for (size_t i = 0; i < index.size(); ++i) loops.add(indices.dims()[i], {index[i], step[i], i == along ? 0 : of_x[i]});
  require_four(op, loops, "indices");
  return "&" + body.object(name_of(op.name(), "extents"), "elements",
                           fmt::format(".count = {}, .index_step = {}, .step = {},\n    .x_step = {}, .extent = {}, "
                                       ".along = {}",
                                       four(loops.count, 1), four(loops.steps[0], 0), four(loops.steps[1], 0),
                                       four(loops.steps[2], 0), x.dims()[along], of_x[along]),
                           72);
}

/// Positions in x after its first `batch_dims` axes.
std::string blocks_object(Body& body, Op op, Value x, Value indices, int64_t batch_dims) {
  constexpr int64_t kMostAxes = 6;
  const int64_t depth = indices.dims().back();
  if (depth > kMostAxes) fail(errors::c_too_many_axes(op.where(), "positions", depth, kMostAxes));
  const auto batch = static_cast<ptrdiff_t>(batch_dims), end = batch + static_cast<ptrdiff_t>(depth);
  const Dims& dims = x.dims();
  const auto product = [](auto first, auto last) { return count_elements(Dims(first, last)); };
  std::vector<int64_t> extents(dims.begin() + batch, dims.begin() + end), steps;
  for (ptrdiff_t i = batch; i < end; ++i) steps.push_back(product(dims.begin() + i + 1, dims.end()));
  const int64_t per_batch = product(indices.dims().begin() + batch, indices.dims().end() - 1);
  const auto list = [](const std::vector<int64_t>& numbers) {
    return "{" + c_numbers(std::span<const int64_t>(numbers)) + "}";
  };
  return "&" + body.object(name_of(op.name(), "extents"), "blocks",
                           fmt::format(".count = {}, .per_batch = {}, .batch_step = {}, .depth = {}, .inner = {}, "
                                       ".extent = {}, .step = {}",
                                       count_elements(indices.dims()) / depth, per_batch,
                                       batch == 0 ? 0 : product(dims.begin() + batch, dims.end()), depth,
                                       product(dims.begin() + end, dims.end()), list(extents), list(steps)),
                           68);
}

void require_rows(Body& body, Op op) {
  const auto is_image = [&](Value value) { return value && body.is_image(value); };
  if (std::ranges::any_of(op.operands(), is_image) || is_image(op.out(0)))
    fail(errors::no_c_form(op.where(), fmt::format("{} of an image by computed indices", op.info().name)));
}

}  // namespace

void add_gather_elements(Body& body, Op op) {
  const ops::GatherElements gather(op.node());
  const Value x = gather.x(), indices = gather.indices();
  const std::string type = c_type(x.dtype());
  const Words words = {{"what", "The element of x at each index along an axis."},
                       {"from", type},
                       {"x", type},
                       {"i", c_type(indices.dtype())},
                       {"each", indexed_function("each_element", op, indices)},
                       {"move", "to[at] = from[place];"}};
  body.kernels.use("places/elements");
  body.kernels.use("places/each_element", words);
  const std::string extents = elements_object(body, op, indices, gather.out(), x);
  const std::string from = memory_of(body, op, x, "x"), at = memory_of(body, op, indices, "indices");
  body.say(fmt::format("{}({}, {}, {}, {});", words.at("each"), from, at, body.write(gather.out()), extents));
}

void add_scatter_elements(Body& body, Op op) {
  require_comparable(op);
  const ops::ScatterElements scatter(op.node());
  const Value indices = scatter.indices(), updates = scatter.updates();
  const std::string type = c_type(updates.dtype());
  const Words words = {{"what", "Writes each update to its index along an axis."},
                       {"from", type},
                       {"x", type},
                       {"i", c_type(indices.dtype())},
                       {"each", indexed_function("each_element", op, indices)},
                       {"move", store_text(op, "place", "from[at]")}};
  body.kernels.use("places/elements");
  body.kernels.use("places/each_element", words);
  const std::string extents = elements_object(body, op, indices, updates, scatter.out());
  const std::string from = memory_of(body, op, updates, "updates"), at = memory_of(body, op, indices, "indices");
  const std::string to = body.write(scatter.out());
  say_copy(body, op, scatter.x(), to);
  body.say(fmt::format("{}({}, {}, {}, {});", words.at("each"), from, at, to, extents));
}

void add_gather_blocks(Body& body, Op op) {
  require_rows(body, op);
  const ops::GatherNd gather(op.node());
  const Words words = {{"what", "The block of x at each position."},
                       {"x", c_type(gather.x().dtype())},
                       {"each", indexed_function("each_block", op, gather.indices())},
                       {"move", "*to++ = from[place + e];"}};
  body.kernels.use("places/blocks");
  body.kernels.use("places/each_block", words);
  const std::string extents = blocks_object(body, op, gather.x(), gather.indices(), gather.batch_dims());
  const std::string from = memory_of(body, op, gather.x(), "x"), at = memory_of(body, op, gather.indices(), "indices");
  body.say(fmt::format("{}({}, {}, {}, {});", words.at("each"), from, at, body.write(gather.out()), extents));
}

void add_scatter_blocks(Body& body, Op op) {
  require_rows(body, op);
  require_comparable(op);
  const ops::ScatterNd scatter(op.node());
  const Words words = {{"what", "Writes each block of updates to its position."},
                       {"x", c_type(scatter.x().dtype())},
                       {"each", indexed_function("each_block", op, scatter.indices())},
                       {"move", store_text(op, "place + e", "*from") + "\n            ++from;"}};
  body.kernels.use("places/blocks");
  body.kernels.use("places/each_block", words);
  const std::string extents = blocks_object(body, op, scatter.x(), scatter.indices(), 0);
  const std::string from = memory_of(body, op, scatter.updates(), "updates"),
                    at = memory_of(body, op, scatter.indices(), "indices"), to = body.write(scatter.out());
  say_copy(body, op, scatter.x(), to);
  body.say(fmt::format("{}({}, {}, {}, {});", words.at("each"), from, at, to, extents));
}

}  // namespace halfstep::formats::c
