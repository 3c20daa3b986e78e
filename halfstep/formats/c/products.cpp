// Products of two activations, and reductions along axes.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/c/errors.h"
#include "halfstep/formats/c/operators.h"
#include "halfstep/formats/c/scales.h"
#include "halfstep/formats/c/strides.h"

namespace halfstep::formats::c {
namespace {

/// Extents of a product, and strides of its operands.
struct Product {
  Loops batches{{}, {{}, {}, {}}};  ///< loops over a, b and the result
  int64_t rows = 1, columns = 1, length = 1;
  int64_t a_row = 0, a_step = 0, b_column = 0, b_step = 0, y_row = 0, y_column = 0;
};

/// For integer_matmul or matmul.
template <class View>
Product product_of(const Body& body, const View& matmul) {
  const Value y = matmul.out();
  std::vector<int64_t> a = strides(body, matmul.a()), b = strides(body, matmul.b());
  const std::vector<int64_t> to = strides(body, y);
  const size_t column = to.size() - 1, row = to.size() - 2;
  if (matmul.transpose_a()) std::swap(a[row], a[column]);
  if (matmul.transpose_b()) std::swap(b[row], b[column]);
  Product product;
  for (size_t axis = 0; axis < row; ++axis) product.batches.add(y.dims()[axis], {a[axis], b[axis], to[axis]});
  product.rows = y.dims()[row];
  product.columns = y.dims()[column];
  product.length = matmul.a().dims()[matmul.transpose_a() ? row : column];
  product.a_row = a[row];
  product.a_step = a[column];
  product.b_step = b[row];
  product.b_column = b[column];
  product.y_row = to[row];
  product.y_column = to[column];
  return product;
}

std::string two(const Dims& values, int64_t missing) {
  std::vector<int64_t> text(2 - values.size(), missing);
  text.insert(text.end(), values.begin(), values.end());
  return "{" + c_numbers(std::span<const int64_t>(text)) + "}";
}

std::string product_object(Body& body, Op op, const Product& p) {
  if (p.batches.count.size() > 2) fail(errors::c_too_many_axes(op.where(), "matrices", p.batches.count.size(), 2));
  return "&" + body.object(name_of(op.name(), "extents"), "product",
                           fmt::format(".count = {}, .a_batch = {}, .b_batch = {}, .y_batch = {},\n    .rows = {}, "
                                       ".columns = {}, .length = {},\n    .a_row = {}, .a_step = {}, .b_column = {}, "
                                       ".b_step = {}, .y_row = {}, .y_column = {}",
                                       two(p.batches.count, 1), two(p.batches.steps[0], 0), two(p.batches.steps[1], 0),
                                       two(p.batches.steps[2], 0), p.rows, p.columns, p.length, p.a_row, p.a_step,
                                       p.b_column, p.b_step, p.y_row, p.y_column),
                           68);
}

/// Loops over the elements of a result, and over the elements that are reduced to one.
struct Reduction {
  Loops result{{}, {{}}}, shared{{}, {{}}};
  int64_t count = 1;  ///< number of reduced elements

  std::string object(Body& body, Op op) const {
    require_four(op, result, "results");
    require_four(op, shared, "axes that become one");
    return "&" +
           body.object(name_of(op.name(), "extents"), "axes",
                       fmt::format(".count = {}, .step = {}, .shared = {}, .shared_step = {}", four(result.count, 1),
                                   four(result.steps[0], 0), four(shared.count, 1), four(shared.steps[0], 0)),
                       64);
  }
};

/// Reduces along the attribute `axes`. Sums of floats follow the network's order of axes, all others the memory order.
Reduction reduction_of(const Body& body, Op op) {
  const Value x = op.in(0), y = op.out(0);
  const auto& axes = get<std::vector<int64_t>>(op.attributes(), "axes");
  const Dims& dims = x.dims();
  const std::vector<int64_t> steps = strides(body, x);
  std::vector<bool> is_shared(dims.size(), axes.empty());
  for (const int64_t axis : axes) is_shared[static_cast<size_t>(axis < 0 ? axis + std::ssize(dims) : axis)] = true;
  Reduction reduction;
  std::vector<size_t> order = memory_axes(body, x);
  if (is_float(x.dtype())) std::ranges::sort(order);
  for (const size_t axis : order) {
    if (!is_shared[axis]) continue;
    reduction.shared.add(dims[axis], {steps[axis]});
    reduction.count *= dims[axis];
  }
  std::vector<int64_t> kept;  // strides of x along each axis of the result
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (!is_shared[axis] || get<bool>(op.attributes(), "keep_dims")) kept.push_back(is_shared[axis] ? 0 : steps[axis]);
  }
  for (const size_t axis : memory_axes(body, y)) reduction.result.add(y.dims()[axis], {kept[axis]});
  return reduction;
}

/// Returns the words of text/reduction.c for the largest or smallest elements, of codes or real values.
Words extreme_words(Op op) {
  const bool is_max = op.is<ops::ReduceMax>(), is_real = is_float(op.in(0).dtype());
  const char* sign = is_max ? ">" : "<";
  return {{"what", fmt::format("The {} of {}.", is_max ? "largest" : "smallest",
                               is_real ? "real values, or NaN if there is one" : "codes")},
          {"type", c_type(op.in(0).dtype())},
          {"start", "from[0]"},
          {"next", fmt::format("value {} made{} ? value : made", sign, is_real ? " || value != value" : "")},
          {"end", "made"}};
}

/// Returns the words for sums and means of real values.
Words sum_words(Op op) {
  const bool is_mean = op.is<ops::ReduceMean>();
  return {{"what", is_mean ? "Means of real values, with sums in double." : "Sums of real values in double."},
          {"type", "double"},
          {"start", "0.0"},
          {"next", "made + value"},
          {"end", is_mean ? "made / ((double)s->shared[0] * s->shared[1] * s->shared[2] * s->shared[3])" : "made"}};
}

}  // namespace

void add_matmul(Body& body, Op op) {
  const ops::IntegerMatmul matmul(op.node());
  const Product product = product_of(body, matmul);
  const int64_t farthest =
      largest_magnitude(matmul.a(), matmul.a_zero_point()) * largest_magnitude(matmul.b(), matmul.b_zero_point());
  const int64_t most = product.length * farthest;
  const Scale scale =
      plain_scale(body, op, {{matmul.multiplier()}, {matmul.shift()}, {}, false}, most > INT32_MAX, most);
  Words words = scale.words();
  words["a"] = c_type(matmul.a().dtype());
  words["b"] = c_type(matmul.b().dtype());
  words["y"] = c_type(matmul.out().dtype());
  const std::string kernel = product.b_column == 1 ? "multiply_rows" : "multiply_columns";
  words["multiply"] =
      fmt::format("{}_{}_{}_{}", kernel, tag(matmul.a().dtype()), tag(matmul.b().dtype()), scale.sum.substr(0, 5));
  words["matmul"] =
      fmt::format("matmul_{}_{}_{}", words["multiply"].substr(9), tag(matmul.out().dtype()), scale.code.substr(5));
  for (const char* part : {"product", kernel.c_str(), "matmul"}) body.kernels.use(part, words);
  const std::string extents = product_object(body, op, product);
  const std::string a = body.read(matmul.a()), b = body.read(matmul.b()), y = body.write(matmul.out());
  body.say(fmt::format("{}({}, {}, {}, {}, {}, {}, {});", words["matmul"], a, b, y, extents, matmul.a_zero_point(),
                       matmul.b_zero_point(), scale.object));
}

void add_mean(Body& body, Op op) {
  const ops::IntegerReduceMean mean(op.node());
  const Reduction reduction = reduction_of(body, op);
  const int64_t most = reduction.count * largest_magnitude(mean.x(), mean.x_zero_point());
  const Scale scale = plain_scale(body, op, {{mean.multiplier()}, {mean.shift()}, {}, false}, most > INT32_MAX, most);
  Words words = scale.words();
  words["x"] = c_type(mean.x().dtype());
  words["y"] = c_type(mean.out().dtype());
  words["mean"] = fmt::format("mean_{}_{}_{}", tag(mean.x().dtype()), tag(mean.out().dtype()), scale.code.substr(5));
  body.kernels.use("axes");
  body.kernels.use("mean", words);
  const std::string extents = reduction.object(body, op);
  const std::string x = body.read(mean.x()), y = body.write(mean.out());
  body.say(fmt::format("{}({}, {}, {}, {}, {});", words["mean"], x, y, extents, mean.x_zero_point(), scale.object));
}

void add_reduction(Body& body, Op op) {
  const bool is_extreme = op.is<ops::ReduceMax, ops::ReduceMin>(), is_real = is_float(op.in(0).dtype());
  if (is_real || !is_extreme) require_float32(op);
  Words words = is_extreme ? extreme_words(op) : sum_words(op);
  words["x"] = c_type(op.in(0).dtype());
  words["reduce"] = (is_real ? "float" : tag(op.in(0).dtype())) + "_" + op.info().name;
  body.uses_floats = body.uses_floats || is_real;
  body.kernels.use("axes");
  body.kernels.use("reduction", words);
  const std::string extents = reduction_of(body, op).object(body, op);
  const std::string x = memory_of(body, op, op.in(0), "x"), y = body.write(op.out(0));
  body.say(fmt::format("{}({}, {}, {});", words["reduce"], x, y, extents));
}

void add_float_product(Body& body, Op op) {
  require_float32(op);
  const ops::Matmul matmul(op.node());
  body.uses_floats = true;
  body.kernels.use("product");
  body.kernels.use("fallbacks/float_product");
  const std::string extents = product_object(body, op, product_of(body, matmul));
  for (const Value factor : {matmul.a(), matmul.b()}) {
    if (factor.is_tensor()) body.weight_bytes += body.contents(factor).bytes();
  }
  const std::string a = memory_of(body, op, matmul.a(), "a"), b = memory_of(body, op, matmul.b(), "b");
  body.say(fmt::format("float_product({}, {}, {}, {});", a, b, body.write(matmul.out()), extents));
}

}  // namespace halfstep::formats::c
