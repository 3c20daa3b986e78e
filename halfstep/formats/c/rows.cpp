// Softmax and normalizations on rows of codes. See docs/arithmetic.md, section 5.
#include <fmt/format.h>

#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/c/errors.h"
#include "halfstep/formats/c/operators.h"
#include "halfstep/formats/c/scales.h"
#include "halfstep/formats/c/strides.h"

namespace halfstep::formats::c {
namespace {

constexpr int64_t kEntries = 256;    ///< entries of a table of exponentials
constexpr int64_t kNormalBits = 60;  ///< maximum bits of the radicand of a normalization, without epsilon

/// Rows in memory: `blocks` of `apart` rows each, with interleaved elements.
struct Rows {
  int64_t blocks = 1, count = 1, apart = 1;
  std::string text() const { return fmt::format("{}, {}, {}", blocks, count, apart); }
};

/// Returns rows along axes `first` to `last`, which must be adjacent in memory in every order of it.
Rows rows_along(const Body& body, Value x, int64_t first, int64_t last) {
  Rows rows;
  for (const size_t axis : memory_axes(body, x)) {
    const int64_t extent = x.dims()[axis];
    const bool is_shared = static_cast<int64_t>(axis) >= first && static_cast<int64_t>(axis) <= last;
    if (is_shared) {
      HS_CHECK(rows.apart == 1);
      rows.count *= extent;
    } else {
      (rows.count > 1 ? rows.apart : rows.blocks) *= extent;
    }
  }
  return rows;
}

Words row_words(Value x, Value y, const Scale& scale) {
  Words words = scale.words();
  words["x"] = c_type(x.dtype());
  words["y"] = c_type(y.dtype());
  return words;
}

std::string function_name(const std::string& kind, Value x, Value y, const Scale& scale) {
  return fmt::format("{}_{}_{}_{}", kind, tag(x.dtype()), tag(y.dtype()), scale.code.substr(5));
}

template <class T>
std::vector<int64_t> integers(const Tensor& tensor) {
  const auto values = tensor.data<T>();
  return {values.begin(), values.end()};
}

int64_t bits_of(int64_t value) {
  int64_t bits = 0;
  while ((int64_t{1} << bits) < value) ++bits;
  return bits;
}

/// Checks the bound of section 5 that keeps a normalization in 64 bits.
void require_narrow(const ops::IntegerNorm& norm) {
  const int64_t bits = 2 * bits_of(norm.x().dims().back()) + 16 * static_cast<int64_t>(size_of(norm.x().dtype()));
  if (bits + norm.guard() > kNormalBits)
    fail(errors::c_norm_too_wide(norm.where(), to_string(norm.x().type()), norm.guard(), bits + norm.guard(),
                                 kNormalBits));
}

}  // namespace

void add_softmax(Body& body, Op op) {
  const ops::IntegerSoftmax softmax(op.node());
  const Value x = softmax.x(), y = softmax.out();
  const int64_t rank = static_cast<int64_t>(x.dims().size());
  const int64_t axis = softmax.axis() < 0 ? softmax.axis() + rank : softmax.axis();
  const std::vector<int64_t> fine = integers<int32_t>(body.contents(softmax.fine()));
  const std::vector<int64_t> coarse = integers<int32_t>(body.contents(softmax.coarse()));
  if (size_of(x.dtype()) > 1 && static_cast<int64_t>(coarse.size()) != kEntries)
    fail(errors::c_softmax_table(op.where(), coarse.size(), kEntries));
  const Scale scale = shifted_scale(body, op);
  Words words = row_words(x, y, scale);
  words["softmax"] = function_name("softmax", x, y, scale);
  body.kernels.use("scalar/exponential");
  body.kernels.use("softmax", words);
  const std::string fine_name = body.numbers(name_of(op.name(), "fine"), "int32_t", fine, 4);
  const std::string coarse_name = body.numbers(name_of(op.name(), "coarse"), "int32_t", coarse, 4);
  const Rows rows = rows_along(body, x, axis, softmax.flattened() ? rank - 1 : axis);
  const std::string from = body.read(x), to = body.write(y);
  body.say(fmt::format("{}({}, {}, {}, {}, {}, {}, {});", words["softmax"], from, to, rows.text(), fine_name,
                       coarse_name, softmax.multiplier(), scale.object));
}

void add_norm(Body& body, Op op) {
  const ops::IntegerNorm norm(op.node());
  const Value x = norm.x(), y = norm.out();
  require_narrow(norm);
  const Scale scale = shifted_scale(body, op);
  Words words = row_words(x, y, scale);
  words["norm"] = function_name("norm", x, y, scale);
  for (const char* kernel : {"scalar/whole_root", "scalar/nearest_quotient", "norm"}) body.kernels.use(kernel, words);
  const std::string factor =
      body.numbers(name_of(op.name(), "factor"), "int32_t", integers<int32_t>(body.contents(norm.factor())), 4);
  const std::string bias =
      body.numbers(name_of(op.name(), "bias"), "int64_t", integers<int64_t>(body.contents(norm.bias())), 8);
  const int64_t last = static_cast<int64_t>(x.dims().size()) - 1;
  const Rows rows = rows_along(body, x, last, last);
  const std::string from = body.read(x), to = body.write(y);
  body.say(fmt::format("{}({}, {}, {}, {}, {}, {}, {}, {}, {}, {});", words["norm"], from, to, rows.text(),
                       norm.x_zero_point(), norm.centered() ? 1 : 0, norm.guard(), norm.epsilon(), factor, bias,
                       scale.object));
}

void add_float_softmax(Body& body, Op op) {
  require_float32(op);
  const ops::Softmax softmax(op.node());
  const Value x = softmax.x();
  const int64_t rank = static_cast<int64_t>(x.dims().size());
  const int64_t axis = softmax.axis() < 0 ? softmax.axis() + rank : softmax.axis();
  const int64_t last = softmax.flattened() ? rank - 1 : axis;
  if (body.is_image(x) && axis != last) fail(errors::no_c_form(op.where(), "softmax over several axes of an image"));
  body.uses_floats = body.uses_math = true;
  body.kernels.use("fallbacks/float_softmax");
  const std::string from = memory_of(body, op, x, "x");
  body.say(fmt::format("float_softmax({}, {}, {});", from, body.write(softmax.out()),
                       rows_along(body, x, axis, last).text()));
}

}  // namespace halfstep::formats::c
