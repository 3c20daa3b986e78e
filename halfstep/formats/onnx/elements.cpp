// Arithmetic on extents: short lists of integers, element by element, that may depend on dynamic extents. Exporters
// insert Shape, Gather, Unsqueeze and Concat around every reshape.
#include <algorithm>
#include <functional>
#include <set>

#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

using Lists = std::vector<Elements>;

/// Returns the element at an index. Sets `ok` to false if the index is out of range.
const Element* at(const Elements& list, int64_t index) {
  const auto size = static_cast<int64_t>(list.values.size());
  if (index < -size || index >= size) return nullptr;
  return &list.values[static_cast<size_t>(index < 0 ? index + size : index)];
}

std::optional<Elements> gather(const Node& node, const Lists& in) {
  if (in.size() != 2 || in[0].scalar || node.integer("axis", 0) > 0) return std::nullopt;
  Elements result{{}, in[1].scalar, in[0].dtype};
  for (const Element& index : in[1].values) {
    const Element* found = index ? at(in[0], *index) : nullptr;
    if (found == nullptr) return std::nullopt;
    result.values.push_back(*found);
  }
  return result;
}

std::optional<Elements> concat(const Node&, const Lists& in) {
  Elements result{{}, false, in[0].dtype};
  for (const Elements& list : in) {
    if (list.scalar || list.dtype != result.dtype) return std::nullopt;
    result.values.insert(result.values.end(), list.values.begin(), list.values.end());
  }
  return result;
}

/// Converts between a list with one element and a number.
std::optional<Elements> squeeze(const Node&, const Lists& in) {
  if (in[0].scalar || in[0].values.size() != 1) return std::nullopt;
  return Elements{in[0].values, true, in[0].dtype};
}
std::optional<Elements> unsqueeze(const Node&, const Lists& in) {
  if (!in[0].scalar) return std::nullopt;
  return Elements{in[0].values, false, in[0].dtype};
}

/// Reshapes to rows of a known length. Exporters list the numbers of a pad in rows, and then reverse these.
std::optional<Elements> to_matrix(const Elements& list, const std::vector<Element>& dims) {
  const auto count = static_cast<int64_t>(list.values.size());
  if (!dims[0] || !dims[1] || *dims[1] < 1 || count % *dims[1] != 0) return std::nullopt;
  if (*dims[0] != -1 && *dims[0] != count / *dims[1]) return std::nullopt;
  return Elements{list.values, false, list.dtype, *dims[1]};
}

std::optional<Elements> reshape(const Node&, const Lists& in) {
  if (in.size() != 2 || in[1].scalar || in[1].values.size() > 2) return std::nullopt;
  if (in[1].values.size() == 2) return to_matrix(in[0], in[1].values);
  const auto count = static_cast<int64_t>(in[0].values.size());
  const bool to_scalar = in[1].values.empty();
  if (to_scalar ? count != 1 : !in[1].values[0] || (*in[1].values[0] != -1 && *in[1].values[0] != count))
    return std::nullopt;
  return Elements{in[0].values, to_scalar, in[0].dtype};
}

std::optional<Elements> cast(const Node& node, const Lists& in) {
  const auto to = find_dtype(node.integer("to", 0));
  const bool fits = to == DType::i64 || (to == DType::i32 && in[0].dtype == DType::i32);
  return fits ? std::optional(Elements{in[0].values, in[0].scalar, *to, in[0].columns}) : std::nullopt;
}

std::optional<Elements> transpose(const Node& node, const Lists& in) {
  const auto columns = static_cast<size_t>(in[0].columns);
  if (columns == 0 || node.integers("perm").value_or(std::vector<int64_t>{1, 0}) != std::vector<int64_t>{1, 0})
    return std::nullopt;
  const size_t rows = in[0].values.size() / columns;
  Elements result{{}, false, in[0].dtype, static_cast<int64_t>(rows)};
  for (size_t i = 0; i < in[0].values.size(); ++i) result.values.push_back(in[0].values[i % rows * columns + i / rows]);
  return result;
}

std::optional<Elements> same(const Node&, const Lists& in) { return in[0]; }

/// Returns elements from `start` on in steps, before `end`, with the rules of Slice.
std::optional<Elements> sliced(const Elements& list, const Element& start, const Element& end, const Element& step) {
  if (!start || !end || !step || *step == 0 || list.scalar) return std::nullopt;
  const int64_t each = std::max<int64_t>(list.columns, 1);
  const int64_t size = static_cast<int64_t>(list.values.size()) / each;
  if (size == 0) return list;
  const auto from_end = [size](int64_t index) { return index < 0 ? std::max(index, -size - 1) + size : index; };
  const int64_t lowest = *step > 0 ? 0 : -1, stride = std::clamp(*step, -size, size);
  const int64_t first = std::clamp(from_end(*start), int64_t{0}, size + lowest);
  const int64_t last = std::clamp(from_end(*end), lowest, size + lowest);
  Elements result{{}, false, list.dtype, list.columns};
  for (int64_t i = first; *step > 0 ? i < last : i > last; i += stride) {
    const auto row = list.values.begin() + i * each;
    result.values.insert(result.values.end(), row, row + each);
  }
  return result;
}

std::optional<Elements> slice(const Node& node, const Lists& in) {
  if (in.size() == 1) {
    const auto starts = node.integers("starts"), ends = node.integers("ends");
    if (!starts || !ends || starts->size() != 1 || ends->size() != 1) return std::nullopt;
    return sliced(in[0], (*starts)[0], (*ends)[0], 1);
  }
  const bool each_one = std::all_of(in.begin() + 1, in.end(), [](const Elements& e) { return e.values.size() == 1; });
  const bool along_rows = in.size() < 4 || (in[3].values[0] && *in[3].values[0] == 0);
  if (in.size() < 3 || !each_one || (in[0].columns > 0 && !along_rows)) return std::nullopt;
  return sliced(in[0], in[1].values[0], in[2].values[0], in.size() > 4 ? in[4].values[0] : Element(1));
}

/// Integer arithmetic. Returns nothing on overflow or division by zero.
using Number = std::optional<int64_t>;
using Arithmetic = Number (*)(int64_t, int64_t);

Number sum(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? Number() : Number(result);
}
Number difference(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_sub_overflow(a, b, &result) ? Number() : Number(result);
}
Number product(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? Number() : Number(result);
}
Number quotient(int64_t a, int64_t b) { return b == 0 || (b == -1 && a == INT64_MIN) ? Number() : Number(a / b); }
Number remainder(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN)) return Number();
  return a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b;
}
Number larger(int64_t a, int64_t b) { return std::max(a, b); }
Number smaller(int64_t a, int64_t b) { return std::min(a, b); }
Number equality(int64_t a, int64_t b) { return a == b ? 1 : 0; }

/// For trials: different signs prove inequality, but equal numbers at trials prove nothing.
Number sign_equality(int64_t a, int64_t b) { return (a < 0) != (b < 0) ? Number(0) : Number(); }

/// Combines elements that depend on dynamic extents at each trial.
Element open_result(Arithmetic arithmetic, const Element& a, const Element& b) {
  const auto left = a.tried(), right = b.tried();
  if (!left || !right) return {};
  Tried tried;
  for (size_t i = 0; i < tried.size(); ++i) {
    const bool is_live = (*left)[i] != kRefused && (*right)[i] != kRefused;
    const Number number = is_live ? arithmetic((*left)[i], (*right)[i]) : kRefused;
    if (!number) return {};
    tried[i] = *number;
  }
  return Element(std::optional(tried));
}

/// Supports int64 only, because int32 would wrap.
template <Arithmetic arithmetic, Arithmetic tried = arithmetic, DType dtype = DType::i64>
std::optional<Elements> pairwise(const Node&, const Lists& in) {
  if (in.size() != 2 || in[0].dtype != DType::i64 || in[1].dtype != DType::i64) return std::nullopt;
  const size_t size = std::max(in[0].values.size(), in[1].values.size());
  const bool fits = std::all_of(in.begin(), in.end(),
                                [size](const Elements& e) { return e.values.size() == size || e.values.size() == 1; });
  if (!fits) return std::nullopt;
  Elements result{{}, in[0].scalar && in[1].scalar, dtype};
  for (size_t i = 0; i < size; ++i) {
    const Element a = in[0].values[in[0].values.size() == 1 ? 0 : i],
                  b = in[1].values[in[1].values.size() == 1 ? 0 : i];
    if (!a || !b) {
      result.values.push_back(open_result(tried, a, b));
      continue;
    }
    const Number value = arithmetic(*a, *b);
    if (!value) return std::nullopt;
    result.values.emplace_back(*value);
  }
  return result;
}

/// Requires a fully known condition.
std::optional<Elements> where(const Node&, const Lists& in) {
  if (in.size() != 3 || !in[0].known() || in[0].dtype != DType::boolean || in[1].dtype != in[2].dtype)
    return std::nullopt;
  const size_t size = std::max({in[0].values.size(), in[1].values.size(), in[2].values.size()});
  const auto at = [size](const Elements& list, size_t i) { return list.values[list.values.size() == size ? i : 0]; };
  const bool fits =
      std::ranges::all_of(in, [size](const Elements& e) { return e.values.size() == size || e.values.size() == 1; });
  if (!fits) return std::nullopt;
  Elements result{{}, in[0].scalar && in[1].scalar && in[2].scalar, in[1].dtype};
  for (size_t i = 0; i < size; ++i) result.values.push_back(at(in[*at(in[0], i) != 0 ? 1 : 2], i));
  return result;
}

std::optional<Elements> modulo(const Node& node, const Lists& in) {
  return node.integer("fmod", 0) == 0 ? pairwise<remainder>(node, in) : std::nullopt;
}

using Fold = std::optional<Elements> (*)(const Node&, const Lists&);

const std::map<std::string, Fold, std::less<>>& folds() {
  static const std::map<std::string, Fold, std::less<>> kFolds = {
      {"Gather", gather},
      {"Concat", concat},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Reshape", reshape},
      {"Transpose", transpose},
      {"Cast", cast},
      {"Identity", same},
      {"Slice", slice},
      {"Add", pairwise<sum>},
      {"Sub", pairwise<difference>},
      {"Mul", pairwise<product>},
      {"Div", pairwise<quotient>},
      {"Mod", modulo},
      {"Max", pairwise<larger>},
      {"Min", pairwise<smaller>},
      {"Where", where},
      {"Equal", pairwise<equality, sign_equality, DType::boolean>}};
  return kFolds;
}

}  // namespace

std::optional<Elements> fold_elements(const Node& node, const std::vector<Operand>& inputs) {
  const auto fold = node.domain().empty() ? folds().find(node.op()) : folds().end();
  if (fold == folds().end() || inputs.empty() || node.outputs() != 1) return std::nullopt;
  Lists lists;
  for (const Operand& input : inputs) {
    auto elements = elements_of(input);
    if (!elements) return std::nullopt;
    lists.push_back(std::move(*elements));
  }
  static const std::set<std::string, std::less<>> kOfMatrices = {"Reshape", "Transpose", "Slice", "Cast", "Identity"};
  const bool has_matrix = std::ranges::any_of(lists, [](const Elements& list) { return list.columns > 0; });
  if (has_matrix && !kOfMatrices.contains(node.op())) return std::nullopt;
  return fold->second(node, lists);
}

}  // namespace halfstep::formats::onnx
