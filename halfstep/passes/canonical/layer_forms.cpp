#include "halfstep/passes/canonical/layer_forms.h"

#include <algorithm>
#include <cmath>

#include "halfstep/core/base/system_memory.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/canonical/clip_forms.h"
#include "halfstep/passes/canonical/patterns.h"
#include "halfstep/passes/canonical/pool_forms.h"
#include "halfstep/passes/graph/open_sums.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

bool is_weight(Value value) {
  return value && value.is_tensor() && !updater_of(value) && value.dtype() == DType::f32 && value.dims().size() == 2;
}

/// Whether adding `value` to `product`, rows of `outputs` numbers, adds a bias. This is false if the sum has more axes
/// or more rows than the product.
bool is_bias(Value value, int64_t outputs, Value product, Value sum) {
  return value && value.is_tensor() && !updater_of(value) && value.dtype() == DType::f32 &&
         count_elements(value.dims()) == outputs && (value.dims().empty() || value.dims().back() == outputs) &&
         sum.type() == product.type();
}

/// Transposes in blocks, whose rows and columns stay in the cache.
Tensor transposed_now(const Tensor& matrix) {
  constexpr int64_t kBlock = 32;
  const int64_t rows = matrix.dims()[0], columns = matrix.dims()[1];
  Tensor result = Tensor::uninitialized(matrix.dtype(), {columns, rows});
  const float* src = matrix.data<float>().data();
  float* dst = result.data<float>().data();
  for (int64_t top = 0; top < rows; top += kBlock) {
    for (int64_t left = 0; left < columns; left += kBlock) {
      for (int64_t r = top; r < std::min(rows, top + kBlock); ++r) {
        for (int64_t c = left; c < std::min(columns, left + kBlock); ++c) dst[c * rows + r] = src[r * columns + c];
      }
    }
  }
  give_back_pages({matrix.raw(), matrix.bytes()});
  return result;
}

/// Deferred, because a network that is only inspected does not need the elements.
Tensor transposed(const Tensor& matrix) {
  return Tensor::deferred({matrix.dtype(), {matrix.dims()[1], matrix.dims()[0]}},
                          [matrix] { return transposed_now(matrix); });
}

class Rewrite {
 public:
  explicit Rewrite(Model& model) : model_(model) {}

  void run() {
    for (const Op op : model_.graph.ops()) {
      if (op.is<ops::Gemm>()) rewrite_gemm(ops::Gemm(op.node()));
      if (op.is<ops::Matmul>()) rewrite_matmul(ops::Matmul(op.node()));
      if (op.is<ops::Div>()) rewrite_division(ops::Div(op.node()));
      if (op.is<ops::Sub>()) rewrite_difference(ops::Sub(op.node()));
      if (op.is<ops::ReduceMean>()) rewrite_mean(ops::ReduceMean(op.node()));
    }
    for (const Value tensor : model_.graph.tensors()) {
      if (tensor.unused()) erase_tensor(model_, tensor);
    }
  }

 private:
  void replace(Op old, Op made) { passes::replace(model_.graph, old, made); }
  Op insert(Op before, const OpInfo& info, std::vector<Value> operands, Attributes attributes = {}) {
    return insert_before(model_.graph, before, info, std::move(operands), std::move(attributes));
  }

  /// Multiplies factors into weight and bias.
  void rewrite_gemm(ops::Gemm gemm) {
    if (gemm.transpose_a() || !is_weight(gemm.b()) || gemm.a().dtype() != DType::f32) return;
    if (!is_factor(gemm.alpha()) || !is_factor(gemm.beta())) return;
    const int64_t outputs = gemm.b().dims()[gemm.transpose_b() ? 0 : 1];
    if (gemm.c() && !is_bias(gemm.c(), outputs, gemm.out(), gemm.out())) return;
    replace(gemm,
            linear(gemm, gemm.a(), times(gemm.b(), gemm.alpha()), gemm.transpose_b(), times(gemm.c(), gemm.beta())));
  }

  static bool is_factor(double factor) { return std::isnormal(static_cast<float>(factor)); }

  Value times(Value tensor, double factor) {
    if (!tensor || factor == 1) return tensor;
    return changed(tensor, ".times", [factor](float one) { return static_cast<float>(one * factor); });
  }

  /// Rewrites the product alone, or with the addition of a bias that follows directly or after a reshape of its rows.
  void rewrite_matmul(ops::Matmul matmul) {
    if (!is_weight(matmul.b()) || matmul.a().dtype() != DType::f32 || matmul.transpose_a()) return;
    const int64_t outputs = matmul.out().dims()[1];
    const Op reshape = only_reader(matmul.out());
    const bool is_split = reshape && reshape.is<ops::Reshape, ops::ReshapeBy>() && !reshape.out(0).dims().empty() &&
                          reshape.out(0).dims().back() == outputs;
    const Value product = is_split ? reshape.out(0) : matmul.out();
    const Op next = only_reader(product);
    const bool adds = next.is<ops::Add>();
    const Value bias = adds ? (next.in(0) == product ? next.in(1) : next.in(0)) : Value();
    if (!is_bias(bias, outputs, product, adds ? next.out(0) : Value()))
      return replace(matmul, linear(matmul, matmul.a(), matmul.b(), matmul.transpose_b(), {}));
    Op made = linear(next, matmul.a(), matmul.b(), matmul.transpose_b(), bias);
    if (is_split) {
      std::vector<Value> operands = reshape.operands();
      operands[0] = made.out(0);
      made = insert(next, reshape.info(), operands, reshape.attributes());
    }
    replace(next, made);
    if (is_split) model_.graph.erase(reshape);
    model_.graph.erase(matmul);
  }

  /// Rewrites a division by a power of two, whose reciprocal is exact.
  void rewrite_division(ops::Div div) {
    if (!is_number(div.b()) || div.a().dtype() != DType::f32) return;
    int exponent = 0;
    const float number = model_.tensors.at(div.b().name()).data<float>()[0];
    if (std::fabs(std::frexp(number, &exponent)) != 0.5F || !std::isnormal(1 / number)) return;
    const Value reciprocal = changed(div.b(), ".reciprocal", [](float one) { return 1 / one; });
    replace(div, insert(div, ops::Mul::record(), {div.a(), reciprocal}));
  }

  void rewrite_difference(ops::Sub sub) {
    const Value b = sub.b();
    if (!b.is_tensor() || updater_of(b) || b.role() != Role::constant || b.dtype() != DType::f32) return;
    if (sub.a().is_tensor()) return;
    const Value negative = changed(b, ".negative", [](float one) { return -one; });
    replace(sub, insert(sub, ops::Add::record(), {sub.a(), negative}));
  }

  static bool is_number(Value value) {
    return value.is_tensor() && !updater_of(value) && value.role() == Role::constant && value.dtype() == DType::f32 &&
           count_elements(value.dims()) == 1;
  }

  /// Returns a tensor of the same extents with each number changed.
  template <class Change>
  Value changed(Value tensor, const char* suffix, Change change) {
    Tensor contents = model_.tensors.at(tensor.name()).clone();
    for (float& one : contents.data<float>()) one = change(one);
    return add_tensor(model_, tensor.name() + suffix, std::move(contents), tensor.role());
  }

  Op linear(Op before, Value x, Value w, bool is_transposed, Value b) {
    if (!is_transposed)
      w = add_tensor(model_, w.name() + ".transposed", transposed(model_.tensors.at(w.name())), w.role());
    const int64_t outputs = w.dims()[0];
    if (b && b.dims() != Dims{outputs})
      b = add_tensor(model_, b.name() + ".flat", model_.tensors.at(b.name()).reshaped({outputs}), b.role());
    return insert(before, ops::Linear::record(), {x, w, b});
  }

  void rewrite_mean(ops::ReduceMean mean) {
    const Value x = mean.x();
    std::vector<int64_t> axes = mean.axes();
    for (int64_t& axis : axes) axis += axis < 0 ? 4 : 0;
    std::ranges::sort(axes);
    if (!is_float(x.dtype()) || x.dims().size() != 4 || axes != std::vector<int64_t>{2, 3}) return;
    if (x.dims()[2] == 0 || x.dims()[3] == 0)
      return;  // the mean of no elements is NaN, which no picture operator computes
    const Op pool = insert(mean, ops::GlobalAvgPool::record(), {x});
    replace(mean, mean.keep_dims() ? pool : insert(mean, ops::Flatten::record(), {pool.out(0)}));
  }

  Model& model_;
};

}  // namespace

void layer_forms(Model& model) {
  pool_forms(model);
  open_sums(model);
  clip_forms(model);
  rewrite_patterns(model);
  Rewrite(model).run();
}

}  // namespace halfstep::passes
