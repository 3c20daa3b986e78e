#include "halfstep/passes/optimize/fuse_attention.h"

#include <cmath>
#include <optional>
#include <utility>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/uses.h"
#include "halfstep/passes/optimize/simplify.h"

namespace halfstep::passes {
namespace {

const std::vector<int64_t> kHeadsToFront = {0, 2, 1, 3};
/// Axis order of keys that are columns of a product's second factor.
const std::vector<int64_t> kHeadsAsColumns = {0, 2, 3, 1};

bool is_between(Value value) {
  return value.producer() && value.has_one_use() && !is_output(value) && value.dtype() == DType::f32;
}

/// Returns the number of a constant with one element, or nothing for other values.
std::optional<double> constant_of(const Model& model, Value value) {
  const bool is_one = value && value.is_tensor() && value.role() == Role::constant && !updater_of(value) &&
                      value.dtype() == DType::f32 && count_elements(value.dims()) == 1 && value.dims().size() <= 1;
  return is_one ? std::optional<double>(model.tensors.at(value.name()).data<float>()[0]) : std::nullopt;
}

struct AttentionForm {
  Value q, k, v, mask;  ///< mask: null if there is none
  double scale = 1;
  bool has_columns = false;  ///< k is already transposed
  ops::Matmul sum;           ///< the second product
};

/// Returns the [batch, length, heads, size] value whose axes `value` permutes by `axes`, or null if it does not.
Value rows_of(Value value, const std::vector<int64_t>& axes = kHeadsToFront) {
  const auto transpose = value.producer<ops::Transpose>();
  const bool is_split =
      transpose && transpose->perm() == axes && transpose->x().dims()[2] > 0 && transpose->x().dims()[3] > 0;
  return is_split ? transpose->x() : Value();
}

Value key_rows(const AttentionForm& parts) {
  return rows_of(parts.k, parts.has_columns ? kHeadsAsColumns : kHeadsToFront);
}
bool is_by_rows(const AttentionForm& parts) { return rows_of(parts.q) && key_rows(parts) && rows_of(parts.v); }

class Finder {
 public:
  explicit Finder(const Model& model) : model_(model) {}

  std::optional<AttentionForm> parts_of(ops::Matmul sum) const {
    AttentionForm parts{.q = {}, .k = {}, .v = sum.b(), .mask = {}, .sum = sum};
    const auto softmax = sum.a().producer<ops::Softmax>();
    const auto rank = static_cast<int64_t>(sum.out().dims().size());
    if (!softmax || !is_between(sum.a()) || sum.transpose_a() || sum.transpose_b() || (rank != 3 && rank != 4))
      return std::nullopt;
    const bool is_along_keys = softmax->axis() == -1 || softmax->axis() == rank - 1;
    if (!is_along_keys || softmax->flattened()) return std::nullopt;
    Value scores = without_mask(softmax->x(), parts);
    scores = without_scale(scores, parts.scale);
    const auto product = scores.producer<ops::Matmul>();
    if (!product || !is_between(scores) || product->transpose_a()) return std::nullopt;
    parts.has_columns = !product->transpose_b();
    parts.q = without_scale(product->a(), parts.scale);
    parts.k = without_scale(product->b(), parts.scale);
    const bool has_scale = parts.scale > 0 && std::isfinite(static_cast<float>(parts.scale));
    return has_scale ? std::optional(parts) : std::nullopt;
  }

 private:
  /// Returns the scores without their added mask and stores the mask. Returns the sum itself if it adds no such mask.
  Value without_mask(Value sum, AttentionForm& parts) const {
    const auto add = sum.producer<ops::Add>();
    if (!add || !is_between(sum)) return sum;
    for (const auto& [scores, mask] : {std::pair(add->a(), add->b()), std::pair(add->b(), add->a())}) {
      // the first of three axes is the batch in a result, but the heads in a mask
      const bool fits = !mask.dims().empty() && mask.dims().size() <= (sum.dims().size() == 4 ? 4 : 2);
      if (!is_scores(scores) || !fits || scores.type() != sum.type()) continue;
      parts.mask = mask;
      return scores;
    }
    return sum;
  }
  bool is_scores(Value value) const {
    double scale = 1;
    return is_between(value) && without_scale(value, scale).producer<ops::Matmul>().has_value();
  }

  /// Strips multiplications and divisions by constants from a value with one reader and accumulates them in `scale`.
  Value without_scale(Value value, double& scale) const {
    while (is_between(value)) {
      const auto mul = value.producer<ops::Mul>();
      const auto div = value.producer<ops::Div>();
      if (mul && constant_of(model_, mul->b()) && mul->a().type() == value.type()) {
        scale *= *constant_of(model_, mul->b());
        value = mul->a();
      } else if (mul && constant_of(model_, mul->a()) && mul->b().type() == value.type()) {
        scale *= *constant_of(model_, mul->a());
        value = mul->b();
      } else if (div && constant_of(model_, div->b()) && div->a().type() == value.type()) {
        scale /= *constant_of(model_, div->b());
        value = div->a();
      } else {
        return value;
      }
    }
    return value;
  }

  const Model& model_;
};

class Fusion {
 public:
  Fusion(Graph& graph, const AttentionForm& parts)
      : parts_(parts), builder_(Builder::before(graph, parts.sum)), graph_(graph) {
    builder_.at(parts.sum.location());
  }

  void run() {
    const bool splits_heads = parts_.sum.out().dims().size() == 4 && is_by_rows(parts_);
    const Value made = splits_heads ? by_rows() : attention(parts_.q, keys(), parts_.v, 1);
    replace(graph_, parts_.sum, made.producer());
  }

 private:
  Value attention(Value q, Value k, Value v, int64_t heads) {
    const bool has_heads = q.dims().size() == 4;
    return ops::fused_attention(builder_, {.q = q,
                                           .k = k,
                                           .v = v,
                                           .mask = parts_.mask,
                                           .heads = has_heads ? 0 : heads,
                                           .kv_heads = has_heads ? 0 : heads,
                                           .scale = parts_.scale,
                                           .name = name("attention")})
        .out();
  }

  /// Returns the rows of keys, by head.
  Value keys() {
    if (!parts_.has_columns) return parts_.k;
    std::vector<int64_t> axes = {0, 1, 2, 3};
    axes.resize(parts_.k.dims().size());
    std::swap(axes.back(), axes[axes.size() - 2]);
    return ops::transpose(builder_, {.x = parts_.k, .perm = axes, .name = name("keys")}).out();
  }

  /// Inserts attention on rows of all heads and transposes its result to heads again. A second transpose then cancels
  /// out.
  Value by_rows() {
    const int64_t heads = parts_.q.dims()[1], size = parts_.v.dims()[3];
    const Value q = together(rows_of(parts_.q)), k = together(key_rows(parts_)), v = together(rows_of(parts_.v));
    const Value rows = attention(q, k, v, heads);
    const Value split =
        ops::reshape(builder_, {.x = rows, .dims = by_row(rows, {heads, size}), .name = name("rows")}).out();
    return ops::transpose(builder_, {.x = split, .perm = kHeadsToFront, .name = name("heads")}).out();
  }

  Value together(Value rows) {
    const int64_t width = rows.dims()[2] * rows.dims()[3];
    return ops::reshape(builder_, {.x = rows, .dims = by_row(rows, {width}), .name = rows.name() + ".together"}).out();
  }

  /// Returns batch and length of `value`, then the extents of a row. Known extents are used so that reshapes can join.
  static std::vector<int64_t> by_row(Value value, const std::vector<int64_t>& row) {
    const int64_t length = value.dims()[1];
    std::vector<int64_t> dims = {length > 0 ? -1 : 0, length > 0 ? length : 0};
    dims.insert(dims.end(), row.begin(), row.end());
    return dims;
  }

  std::string name(const char* part) const { return parts_.sum.name() + "." + part; }

  const AttentionForm& parts_;
  Builder builder_;
  Graph& graph_;
};

}  // namespace

void fuse_attention(Model& model) {
  for (const ops::Matmul& sum : model.graph.all<ops::Matmul>()) {
    if (const auto parts = Finder(model).parts_of(sum)) Fusion(model.graph, *parts).run();
  }
  simplify(model.graph);  // removes transposes that exchange heads and positions back
}

}  // namespace halfstep::passes
