#include "halfstep/passes/canonical/layers/open_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rearranged.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

using Ints = std::vector<int64_t>;
/// The letter of each axis. -1, -2, ... are the axes of "...", from the last one.
using Labels = std::vector<int>;

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

struct Term {
  Value value;
  Labels labels;
};

bool has(const Labels& labels, int label) { return std::ranges::find(labels, label) != labels.end(); }

/// The labels of `from` for which `keeps` is true.
template <class Keeps>
Labels only(const Labels& from, Keeps keeps) {
  Labels some;
  std::ranges::copy_if(from, std::back_inserter(some), keeps);
  return some;
}

Labels joined(Labels first, const Labels& second, const Labels& third = {}) {
  first.insert(first.end(), second.begin(), second.end());
  first.insert(first.end(), third.begin(), third.end());
  return first;
}

Labels labels_of(const std::string& term, size_t rank) {
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] != '.') {
      labels.push_back(term[i]);
      continue;
    }
    for (auto axis = static_cast<int>(rank + 3 - term.size()); axis > 0; --axis) labels.push_back(-axis);
    i += 2;
  }
  return labels;
}

/// "..." followed by the letters that occur once, in alphabetical order.
std::string implied_result(const std::string& terms) {
  std::map<char, int> counts;
  for (const char c : terms) ++counts[c];
  std::string result = counts.contains('.') ? "..." : "";
  for (const auto& [letter, count] : counts) {
    if (count == 1 && letter != ',') result += letter;
  }
  return result;
}

/// The equation of numpy.matmul.
std::string matmul_equation(Op op) {
  const bool has_rows = op.in(0).dims().size() > 1, has_columns = op.in(1).dims().size() > 1;
  return fmt::format("{},{}->...{}{}", has_rows ? "...ik" : "k", has_columns ? "...kj" : "k", has_rows ? "i" : "",
                     has_columns ? "j" : "");
}

Equation equation_of(Op op) {
  std::string text = op.is<ops::Einsum>() ? ops::Einsum(op.node()).equation() : matmul_equation(op);
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::string terms = text.substr(0, arrow);
  Equation equation;
  size_t begin = 0;
  for (const Value operand : op.operands()) {
    const size_t end = std::min(terms.find(',', begin), terms.size());
    equation.operands.push_back(labels_of(terms.substr(begin, end - begin), operand.dims().size()));
    begin = end + 1;
  }
  const std::string result = arrow == std::string::npos ? implied_result(terms) : text.substr(arrow + 2);
  equation.result = labels_of(result, op.out(0).dims().size());
  return equation;
}

/// A letter that an operand repeats, or 0.
int repeated(const Labels& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (std::count(labels.begin() + static_cast<ptrdiff_t>(i), labels.end(), labels[i]) > 1) return labels[i];
  }
  return 0;
}

bool is_product(Op op) { return op && op.is<ops::Einsum, ops::MatmulBroadcast>(); }

class OpenProduct {
 public:
  OpenProduct(Model& model, Op op) : model_(model), old_(op), equation_(equation_of(op)) {
    for (size_t i = 0; i < equation_.operands.size(); ++i) {
      const Labels& labels = equation_.operands[i];
      for (size_t axis = 0; axis < labels.size(); ++axis) {
        const int64_t own = op.in(static_cast<int>(i)).dims()[axis];
        int64_t& extent = extents_.try_emplace(labels[axis], own).first->second;
        if (extent == 1 || (extent == kUnknown && own > 1)) extent = own;
      }
    }
  }

  void run() {
    std::optional<Term> all = product_of_terms();
    if (all) all = permuted(*all, equation_.result);
    if (all && made_.empty()) all->value = inserted(ops::Identity::record(), {all->value});
    if (all && all->value.type() == old_.out(0).type()) return replace(model_.graph, old_, made_.back());
    for (auto op = made_.rbegin(); op != made_.rend(); ++op) model_.graph.erase(*op);
    for (const Value tensor : tensors_) {
      if (tensor.unused()) erase_tensor(model_, tensor);
    }
  }

 private:
  std::optional<Term> product_of_terms() {
    std::vector<Term> terms;
    for (size_t i = 0; i < equation_.operands.size(); ++i)
      terms.push_back(without_repeats({old_.in(static_cast<int>(i)), equation_.operands[i]}));
    std::optional<Term> all;
    for (size_t i = 0; i < terms.size(); ++i) {
      Labels later = equation_.result;
      for (size_t j = i + 1; j < terms.size(); ++j) later = joined(later, terms[j].labels);
      const auto term = summed(terms[i], all ? joined(later, all->labels) : later);
      if (!term) return std::nullopt;
      all = all ? contracted(*all, *term, later) : term;
      if (!all) return std::nullopt;
    }
    return all;
  }

  /// The term without axes of extent 1 along which another operand repeats it.
  Term without_repeats(const Term& term) {
    Ints axes;
    Labels labels;
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      const int label = term.labels[axis];
      if (term.value.dims()[axis] == 1 && extents_.at(label) != 1) {
        axes.push_back(static_cast<int64_t>(axis));
      } else {
        labels.push_back(label);
      }
    }
    return axes.empty() ? term : squeezed(term, axes, labels);
  }

  /// The term without axes that nothing else has.
  std::optional<Term> summed(const Term& term, const Labels& kept) {
    Ints axes;
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      if (!has(kept, term.labels[axis])) axes.push_back(static_cast<int64_t>(axis));
    }
    if (axes.empty()) return term;
    if (term.value.is_tensor()) return std::nullopt;
    return Term{inserted(ops::ReduceSum::record(), {term.value}, {{"axes", axes}}),
                only(term.labels, [&](int label) { return has(kept, label); })};
  }

  Term squeezed(const Term& term, const Ints& axes, const Labels& labels) {
    if (!term.value.is_tensor()) return {inserted(ops::Squeeze::record(), {term.value}, {{"axes", axes}}), labels};
    Dims dims;
    for (const int label : labels) dims.push_back(term.value.dims()[place(term, label)]);
    return {stored(term.value, contents(term.value).reshaped(dims)), labels};
  }

  /// The product of two terms, summed over the labels of both that are not in `later`.
  std::optional<Term> contracted(const Term& a, const Term& b, const Labels& later) {
    if (a.value.is_tensor() && !b.value.is_tensor()) return contracted(b, a, later);
    const Labels batch = only(a.labels, [&](int label) { return has(b.labels, label) && has(later, label); });
    const Labels summed = only(a.labels, [&](int label) { return has(b.labels, label) && !has(later, label); });
    const Labels rows = only(a.labels, [&](int label) { return !has(b.labels, label); });
    const Labels columns = only(b.labels, [&](int label) { return !has(a.labels, label); });
    if (summed.empty()) return elements(a, b, batch, rows, columns);
    const auto left = matrices(a, batch, rows, summed), right = matrices(b, batch, summed, columns);
    if (!left || !right) return std::nullopt;
    const Value product = inserted(ops::Matmul::record(), {*left, *right});
    return apart({product, batch}, rows, columns);
  }

  /// The product of each element of `a` with each of `b` at the same place of the batch.
  std::optional<Term> elements(const Term& a, const Term& b, const Labels& batch, const Labels& rows,
                               const Labels& columns) {
    const Term left = permuted(a, joined(batch, rows)), right = permuted(b, joined(batch, columns));
    const Value x = with_axes(left.value, left.labels.size(), columns.size());
    const Value y = with_axes(right.value, batch.size(), rows.size());
    return Term{inserted(ops::Mul::record(), {x, y}), joined(batch, rows, columns)};
  }

  /// Inserts `count` axes of extent 1 at `first`.
  Value with_axes(Value value, size_t first, size_t count) {
    if (count == 0) return value;
    if (value.is_tensor()) {
      Dims dims = value.dims();
      dims.insert(dims.begin() + static_cast<ptrdiff_t>(first), count, 1);
      return stored(value, contents(value).reshaped(dims));
    }
    Ints axes(count);
    std::iota(axes.begin(), axes.end(), static_cast<int64_t>(first));
    return inserted(ops::Unsqueeze::record(), {value}, {{"axes", axes}});
  }

  /// The term as matrices of the extents of `rows` and `columns`, behind the axes of the batch.
  std::optional<Value> matrices(const Term& term, const Labels& batch, const Labels& rows, const Labels& columns) {
    const Term ordered = permuted(term, joined(batch, rows, columns));
    if (rows.size() == 1 && columns.size() == 1) return ordered.value;
    Ints dims(batch.size(), 0);
    dims.push_back(size_of(rows));
    dims.push_back(size_of(columns));
    if (std::ranges::count(dims, kOpen) > 1) return std::nullopt;
    if (!term.value.is_tensor()) return inserted(ops::Reshape::record(), {ordered.value}, {{"dims", dims}});
    std::copy_n(ordered.value.dims().begin(), batch.size(), dims.begin());
    return stored(ordered.value, contents(ordered.value).reshaped(dims));
  }

  /// Gives rows and columns of matrices their own axes again.
  std::optional<Term> apart(Term product, const Labels& rows, const Labels& columns) {
    Ints dims(product.labels.size(), 0);
    product.labels = joined(product.labels, rows, columns);
    if (rows.size() == 1 && columns.size() == 1) return product;
    for (size_t i = dims.size(); i < product.labels.size(); ++i) dims.push_back(size_of({product.labels[i]}));
    if (std::ranges::count(dims, kOpen) > 1) return std::nullopt;
    product.value = inserted(ops::Reshape::record(), {product.value}, {{"dims", dims}});
    return product;
  }

  Term permuted(const Term& term, const Labels& labels) {
    if (term.labels == labels) return term;
    Ints perm;
    for (const int label : labels) perm.push_back(static_cast<int64_t>(place(term, label)));
    if (term.value.is_tensor()) return {stored(term.value, rearranged(contents(term.value), perm)), labels};
    return {inserted(ops::Transpose::record(), {term.value}, {{"perm", perm}}), labels};
  }

  static size_t place(const Term& term, int label) {
    return static_cast<size_t>(std::ranges::find(term.labels, label) - term.labels.begin());
  }

  /// The number of elements along these axes, or kOpen.
  int64_t size_of(const Labels& labels) const {
    int64_t size = 1;
    for (const int label : labels) {
      const int64_t extent = extents_.at(label);
      if (extent == kUnknown) return kOpen;
      size *= extent;
    }
    return size;
  }

  const Tensor& contents(Value tensor) const { return model_.tensors.at(tensor.name()); }

  Value stored(Value tensor, Tensor contents) {
    tensors_.push_back(add_tensor(model_, tensor.name() + ".moved", std::move(contents), tensor.role()));
    return tensors_.back();
  }

  Value inserted(const OpInfo& info, std::vector<Value> operands, Attributes attributes = {}) {
    made_.push_back(insert_before(model_.graph, old_, info, std::move(operands), std::move(attributes)));
    return made_.back().out(0);
  }

  static constexpr int64_t kOpen = -1;  ///< in a reshape, the extent that results from the others

  Model& model_;
  Op old_;
  Equation equation_;
  std::map<int, int64_t> extents_;
  std::vector<Op> made_;
  std::vector<Value> tensors_;
};

/// A reshape has no extents of 0.
bool can_read(Value value) {
  return std::ranges::find(value.dims(), 0) == value.dims().end() && (!value.is_tensor() || is_stored_f32(value));
}

bool can_open(Op op) {
  const std::vector<Value> operands = op.operands();
  return is_product(op) && op.out(0).dtype() == DType::f32 && std::ranges::all_of(operands, can_read) &&
         !std::ranges::all_of(operands, &Value::is_tensor);
}

/// The letter that an operand repeats, as text, or "".
std::string repeated_letter(Op op) {
  for (const Labels& labels : equation_of(op).operands) {
    if (const int label = repeated(labels)) return std::string(1, static_cast<char>(label));
  }
  return "";
}

}  // namespace

void open_products(Model& model, const std::set<std::string>& kept) {
  for (const Op op : model.graph.ops()) {
    if (can_open(op) && !kept.contains(op.name()) && repeated_letter(op).empty()) OpenProduct(model, op).run();
  }
  for (const Value tensor : model.graph.tensors()) {
    if (tensor.unused()) erase_tensor(model, tensor);
  }
}

std::string product_obstacle(Op op) {
  if (!can_open(op)) return "";
  const std::string letter = repeated_letter(op);
  if (letter.empty())
    return "it joins axes of several unknown extents; export the network with fewer dynamic dimensions";
  return fmt::format("an operand has the letter '{}' twice; select its diagonal with a Gather first", letter);
}

}  // namespace halfstep::passes
