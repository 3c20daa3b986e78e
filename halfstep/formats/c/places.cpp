// Operators that find places of codes, or write codes to places: maximum pools with indices or dilation, max_unpool,
// positions of extremes, the largest elements. See docs/arithmetic.md, section 5.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/unpooling.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/c/errors.h"
#include "halfstep/formats/c/operators.h"
#include "halfstep/formats/c/scales.h"
#include "halfstep/formats/c/strides.h"
#include "halfstep/passes/graph/spatial_axes.h"

namespace halfstep::formats::c {
namespace {

using Numbers = std::vector<int64_t>;

/// Returns "{1, 2, 3}".
std::string braced(const Numbers& numbers) { return "{" + c_numbers(std::span<const int64_t>(numbers)) + "}"; }

/// Prepends `missing` up to `size` numbers.
Numbers with_leading(Numbers numbers, size_t size, int64_t missing) {
  numbers.insert(numbers.begin(), size - numbers.size(), missing);
  return numbers;
}

/// Comparisons of floats have rules for NaN, which the kernels for codes lack.
void require_integers(Op op) {
  if (is_float(op.in(0).dtype()))
    fail(errors::no_c_form(op.where(), fmt::format("{} on {}", op.info().name, name(op.in(0).dtype()))));
}

/// Strides of each axis from the third on, for up to three of them.
Numbers spatial_steps(const Numbers& steps) { return with_leading({steps.begin() + 2, steps.end()}, 3, 0); }

std::string pool_object(Body& body, const ops::MaxPool& pool, const passes::SpatialAxes& axes) {
  const Dims &x = pool.x().dims(), &y = pool.out().dims();
  const Numbers x_steps = strides(body, pool.x()), y_steps = strides(body, pool.out());
  Numbers extent, windows, kernel, stride, dilation, before, places(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    extent.push_back(x[i + 2]);
    windows.push_back(y[i + 2]);
    kernel.push_back(axes[i].kernel);
    stride.push_back(axes[i].stride);
    dilation.push_back(axes[i].dilation);
    before.push_back(axes[i].padding.before);
  }
  int64_t step = 1;
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t axis = pool.storage_order() == 0 ? places.size() - 1 - i : i;
    places[axis] = step;
    step *= extent[axis];
  }
  return "&" +
         body.object(
             name_of(pool.name(), "extents"), "pool_axes",
             fmt::format(".images = {}, .channels = {}, .x_image = {}, .x_channel = {}, .y_image = {}, "
                         ".y_channel = {},\n    .extent = {}, .windows = {}, .kernel = {}, .stride = {}, "
                         ".dilation = {},\n    .before = {}, .x_step = {}, .y_step = {}, .place_step = {}",
                         x[0], x[1], x_steps[0], x_steps[1], y_steps[0], y_steps[1], braced(with_leading(extent, 3, 1)),
                         braced(with_leading(windows, 3, 1)), braced(with_leading(kernel, 3, 1)),
                         braced(with_leading(stride, 3, 1)), braced(with_leading(dilation, 3, 1)),
                         braced(with_leading(before, 3, 0)), braced(spatial_steps(x_steps)),
                         braced(spatial_steps(y_steps)), braced(with_leading(places, 3, 0))),
             132);
}

/// Lines of x along `axis`. Axes of the result follow those of x, except that `axis` may be missing.
std::string lines_object(Body& body, Op op, int64_t axis, bool keeps_axis) {
  const Value x = op.in(0), y = op.out(0);
  const auto along = static_cast<size_t>(axis < 0 ? axis + std::ssize(x.dims()) : axis);
  const Numbers from = strides(body, x);
  Numbers to = strides(body, y);
  if (!keeps_axis) to.insert(to.begin() + static_cast<ptrdiff_t>(along), 0);
  Loops loops{{}, {{}, {}}};
  for (size_t i = 0; i < from.size(); ++i) {
    if (i != along) loops.add(x.dims()[i], {from[i], to[i]});
  }
  require_four(op, loops, "lines");
  return "&" + body.object(name_of(op.name(), "extents"), "lines",
                           fmt::format(".count = {}, .x_step = {}, .y_step = {}, .extent = {}, .x_along = {}, "
                                       ".y_along = {}",
                                       four(loops.count, 1), four(loops.steps[0], 0), four(loops.steps[1], 0),
                                       x.dims()[along], from[along], to[along]),
                           60);
}

}  // namespace

void add_max_places(Body& body, Op op) {
  require_integers(op);
  const ops::MaxPool pool(op.node());
  const auto axes = passes::axes_of(pool);
  if (!axes) fail(errors::no_c_form(op.where(), "max_pool over unknown extents"));
  const Words words = {{"x", c_type(pool.x().dtype())}, {"x_tag", tag(pool.x().dtype())}};
  body.kernels.use("places/pool_axes");
  body.kernels.use("places/max_places", words);
  const std::string extents = pool_object(body, pool, *axes);
  const std::string x = memory_of(body, op, pool.x(), "x"), y = body.write(pool.out());
  const std::string places = pool.with_indices() ? body.write(pool.indices()) : "NULL";
  body.say(fmt::format("max_places_{}({}, {}, {}, {});", words.at("x_tag"), x, y, places, extents));
}

void add_unpool(Body& body, Op op) {
  require_integers(op);
  const ops::MaxUnpool unpool(op.node());
  const Dims &x = unpool.x().dims(), &y = unpool.out().dims();
  if (x.size() > 5) fail(errors::c_too_many_axes(op.where(), "values", std::ssize(x), 5));
  const Unpooling unpooling(x, unpool.kernel(), unpool.stride(), unpool.pad(), y);
  const Words words = {{"x", c_type(unpool.x().dtype())}, {"x_tag", tag(unpool.x().dtype())}};
  body.kernels.use("places/unpool", words);
  const auto list = [&](const Numbers& numbers, int64_t missing) { return braced(with_leading(numbers, 5, missing)); };
  const std::string extents =
      "&" +
      body.object(name_of(op.name(), "extents"), "unpool_axes",
                  fmt::format(".count = {}, .x_step = {}, .place_step = {},\n    .extent = {}, .limit = {}, "
                              ".y_step = {}",
                              list(x, 1), list(strides(body, unpool.x()), 0), list(strides(body, unpool.indices()), 0),
                              list(unpooling.pooled, 1), list(y, 1), list(strides(body, unpool.out()), 0)),
                  120);
  const int64_t fill = unpool.value() ? static_cast<int64_t>(element(body.contents(unpool.value()), 0)) : 0;
  const std::string from = memory_of(body, op, unpool.x(), "x"), at = body.read(unpool.indices());
  body.say(fmt::format("unpool_{}({}, {}, {}, {}, {}, {});", words.at("x_tag"), from, at, body.write(unpool.out()),
                       count_elements(y), c_number(fill), extents));
}

void add_place_of(Body& body, Op op) {
  require_integers(op);
  const auto& attributes = op.attributes();
  const bool is_max = op.is<ops::ArgMax>(), takes_last = get<bool>(attributes, "select_last_index");
  const std::string place =
      fmt::format("place_of_{}_{}_{}", takes_last ? "last" : "first", is_max ? "max" : "min", tag(op.in(0).dtype()));
  body.kernels.use("places/lines");
  body.kernels.use("places/place_of",
                   {{"x", c_type(op.in(0).dtype())},
                    {"place", place},
                    {"what", fmt::format("{} {}", takes_last ? "last" : "first", is_max ? "largest" : "smallest")},
                    {"beats", fmt::format("{}{}", is_max ? ">" : "<", takes_last ? "=" : "")}});
  const std::string extents =
      lines_object(body, op, get<int64_t>(attributes, "axis"), get<bool>(attributes, "keep_dims"));
  const std::string x = memory_of(body, op, op.in(0), "x");
  body.say(fmt::format("{}({}, {}, {});", place, x, body.write(op.out(0)), extents));
}

void add_sorted(Body& body, Op op) {
  require_integers(op);
  const ops::TopK top(op.node());
  const std::string sorted = fmt::format("sorted_{}_{}", top.largest_() ? "largest" : "smallest", tag(top.x().dtype()));
  body.kernels.use("places/lines");
  body.kernels.use("places/sorted", {{"x", c_type(top.x().dtype())},
                                     {"sorted", sorted},
                                     {"what", top.largest_() ? "largest" : "smallest"},
                                     {"beats", top.largest_() ? ">" : "<"}});
  const std::string extents = lines_object(body, op, top.axis(), true);
  const std::string x = memory_of(body, op, top.x(), "x"), values = body.write(top.values());
  body.say(fmt::format("{}({}, {}, {}, {}, {});", sorted, x, values, body.write(top.indices()), extents, top.k()));
}

void add_running(Body& body, Op op) {
  const ops::IntegerCumsum cumsum(op.node());
  const Dims& dims = cumsum.x().dims();
  const int64_t extent =
      dims[static_cast<size_t>(cumsum.axis() < 0 ? cumsum.axis() + std::ssize(dims) : cumsum.axis())];
  const int64_t most = extent * largest_magnitude(cumsum.x(), cumsum.x_zero_point());
  const Scale scale =
      plain_scale(body, op, {{cumsum.multiplier()}, {cumsum.shift()}, {}, false}, most > INT32_MAX, most);
  Words words = scale.words();
  words["x"] = c_type(cumsum.x().dtype());
  words["y"] = c_type(cumsum.out().dtype());
  words["element"] = cumsum.reverse() ? "s->extent - 1 - n" : "n";
  words["taken"] = cumsum.exclusive() ? "sum" : "next";
  words["running"] =
      fmt::format("running_{}{}{}_{}_{}", cumsum.exclusive() ? "exclusive_" : "", cumsum.reverse() ? "reverse_" : "",
                  tag(cumsum.x().dtype()), tag(cumsum.out().dtype()), scale.code.substr(5));
  body.kernels.use("places/lines");
  body.kernels.use("places/running", words);
  const std::string extents = lines_object(body, op, cumsum.axis(), true);
  const std::string x = body.read(cumsum.x()), y = body.write(cumsum.out());
  body.say(
      fmt::format("{}({}, {}, {}, {}, {});", words["running"], x, y, extents, cumsum.x_zero_point(), scale.object));
}

}  // namespace halfstep::formats::c
