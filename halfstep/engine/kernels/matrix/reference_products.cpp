// Matrix products and sums over named axes. Sums of floats are in double, in the order of the shared axis, and rounded
// once. Integers are summed modulo 2^64.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/broadcast.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/matrix/batches.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

/// Strides of a matrix, in elements.
struct Strides {
  int64_t row, column;
};

/// sums[j] = sum over k of a[k] * b[k, j].
template <class T>
void multiply_row(const T* a, int64_t a_step, const T* b, Strides b_strides, int64_t inner, int64_t columns,
                  Total<T>* sums) {
  std::fill_n(sums, columns, Total<T>(0));
  if (b_strides.column == 1) {
    for (int64_t k = 0; k < inner; ++k) {
      const Total<T> factor = total_of(a[k * a_step]);
      const T* row = b + k * b_strides.row;
      for (int64_t j = 0; j < columns; ++j) sums[j] += factor * total_of(row[j]);
    }
    return;
  }
  for (int64_t j = 0; j < columns; ++j) {
    const T* column = b + j * b_strides.column;
    Total<T> sum = 0;
    for (int64_t k = 0; k < inner; ++k) sum += total_of(a[k * a_step]) * total_of(column[k * b_strides.row]);
    sums[j] = sum;
  }
}

// gemm

struct GemmState {
  int64_t rows, inner, columns, rows_per_piece;
  Strides a, b;
  Dims c, out;
  double alpha, beta;
};

Plan prepare_gemm(const Problem& problem) {
  const Gemm attributes(problem.attributes);
  const Dims& a = problem.in[Gemm::in::a]->dims;
  const Dims& out = problem.out[0]->dims;
  const int64_t inner = a[attributes.transpose_a ? 0 : 1], rows = out[0], columns = out[1];
  const Strides a_strides = attributes.transpose_a ? Strides{1, rows} : Strides{inner, 1};
  const Strides b_strides = attributes.transpose_b ? Strides{1, inner} : Strides{columns, 1};
  const Type* c = problem.in[Gemm::in::c];
  const int64_t step = std::max<int64_t>(1, (int64_t{1} << 18) / std::max<int64_t>(1, inner * columns));
  auto state = std::make_shared<GemmState>(rows, inner, columns, step, a_strides, b_strides,
                                           c == nullptr ? Dims() : c->dims, out, attributes.alpha, attributes.beta);
  return {.state = std::move(state),
          .worker_scratch = static_cast<size_t>(columns) * sizeof(double),
          .phases = {ceil_div(rows, step)}};
}

template <class T>
T scaled_sum(const GemmState& g, Total<T> sum, const T* c, int64_t at) {
  if constexpr (kIsFloat<T>) {
    const double product = g.alpha * sum;
    return from_double<T>(c == nullptr ? product : product + g.beta * to_double(c[broadcast_index(g.c, g.out, at)]));
  } else {
    const uint64_t product = static_cast<uint64_t>(static_cast<int64_t>(g.alpha)) * sum;
    if (c == nullptr) return static_cast<T>(product);
    const uint64_t offset = total_of(c[broadcast_index(g.c, g.out, at)]);
    return static_cast<T>(product + static_cast<uint64_t>(static_cast<int64_t>(g.beta)) * offset);
  }
}

Status run_gemm(const Call& call, int, int64_t piece) {
  using In = Gemm::in;
  const auto& g = state_of<GemmState>(call);
  with_number(call.out[0].dtype, [&]<class T>() {
    auto* sums = reinterpret_cast<Total<T>*>(call.worker_scratch);
    const int64_t end = std::min(g.rows, (piece + 1) * g.rows_per_piece);
    for (int64_t row = piece * g.rows_per_piece; row < end; ++row) {
      multiply_row(call.in[In::a].as<const T>() + row * g.a.row, g.a.column, call.in[In::b].as<const T>(), g.b, g.inner,
                   g.columns, sums);
      T* dst = call.out[0].as<T>() + row * g.columns;
      for (int64_t j = 0; j < g.columns; ++j)
        dst[j] = scaled_sum<T>(g, sums[j], call.in[In::c].as<const T>(), row * g.columns + j);
    }
  });
  return {};
}

// matmul_broadcast

Plan prepare_matmul(const Problem& problem) {
  auto shape = std::make_shared<MatmulShape>(problem.in[0]->dims, problem.in[1]->dims, problem.out[0]->dims);
  const int64_t pieces = shape->pieces();
  const auto scratch = static_cast<size_t>(shape->columns) * sizeof(double);
  return {.state = std::move(shape), .worker_scratch = scratch, .phases = {pieces}};
}

Status run_matmul(const Call& call, int, int64_t piece) {
  const auto& s = state_of<MatmulShape>(call);
  const auto batch = static_cast<size_t>(piece / s.pieces_per_batch());
  const int64_t first = piece % s.pieces_per_batch() * s.rows_per_piece,
                last = std::min(s.rows, first + s.rows_per_piece);
  with_number(call.out[0].dtype, [&]<class T>() {
    auto* sums = reinterpret_cast<Total<T>*>(call.worker_scratch);
    const T* a = call.in[0].as<const T>() + s.a_batch[batch] * s.rows * s.inner;
    const T* b = call.in[1].as<const T>() + s.b_batch[batch] * s.inner * s.columns;
    T* dst = call.out[0].as<T>() + static_cast<int64_t>(batch) * s.rows * s.columns;
    for (int64_t row = first; row < last; ++row) {
      multiply_row(a + row * s.inner, 1, b, {s.columns, 1}, s.inner, s.columns, sums);
      for (int64_t j = 0; j < s.columns; ++j) dst[row * s.columns + j] = of_total<T>(sums[j]);
    }
  });
  return {};
}

// einsum

/// Loops over the axes of the result, then over the summed axes. Each loop has a stride in each value.
struct EinsumState {
  Dims extents;                               ///< extents of the loops, outermost first
  size_t results = 0;                         ///< loops that belong to the result
  std::vector<std::vector<int64_t>> strides;  ///< strides by value, then by loop
};

/// One name for each axis of an operand. Letters keep their character, and the axes under "..." are numbered from the
/// last.
std::vector<int> axis_names(const std::string& term, size_t rank) {
  const size_t dots = term.find("...");
  const size_t letters = dots == std::string::npos ? term.size() : term.size() - 3;
  std::vector<int> names;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] != '.') {
      names.push_back(term[i]);
      continue;
    }
    for (size_t k = rank - letters; k > 0; --k) names.push_back(-static_cast<int>(k));
    i += 2;
  }
  return names;
}

std::vector<std::string> split_terms(const std::string& text) {
  std::vector<std::string> terms = {""};
  for (const char c : text) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  return terms;
}

/// The result's axes: the written ones, or "..." and the letters that occur once.
std::vector<int> result_names(const std::string& text, const std::vector<std::vector<int>>& terms, size_t rank) {
  const size_t arrow = text.find("->");
  if (arrow != std::string::npos) return axis_names(text.substr(arrow + 2), rank);
  std::map<int, int> counts;
  for (const auto& names : terms) {
    for (const int name : names) ++counts[name];
  }
  std::vector<int> names;
  for (const auto& [name, count] : counts) {
    if (name < 0 || count == 1) names.push_back(name);
  }
  return names;
}

Plan prepare_einsum(const Problem& problem) {
  std::string text = Einsum(problem.attributes).equation;
  std::erase(text, ' ');
  const std::vector<std::string> written = split_terms(text.substr(0, text.find("->")));
  std::vector<std::vector<int>> terms;
  for (size_t i = 0; i < written.size(); ++i) terms.push_back(axis_names(written[i], problem.in[i]->dims.size()));
  auto state = std::make_shared<EinsumState>();
  std::vector<int> loops = result_names(text, terms, problem.out[0]->dims.size());
  state->results = loops.size();
  std::map<int, int64_t> extents;
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t axis = 0; axis < terms[i].size(); ++axis) {
      int64_t& extent = extents.emplace(terms[i][axis], 1).first->second;
      if (problem.in[i]->dims[axis] != 1) extent = problem.in[i]->dims[axis];
      if (std::find(loops.begin(), loops.end(), terms[i][axis]) == loops.end()) loops.push_back(terms[i][axis]);
    }
  }
  for (const int loop : loops) state->extents.push_back(extents.at(loop));
  for (size_t i = 0; i < terms.size(); ++i) {
    std::vector<int64_t>& strides = state->strides.emplace_back(loops.size(), 0);
    int64_t stride = 1;
    for (size_t axis = terms[i].size(); axis-- > 0;) {
      const auto loop = static_cast<size_t>(std::find(loops.begin(), loops.end(), terms[i][axis]) - loops.begin());
      if (problem.in[i]->dims[axis] != 1) strides[loop] += stride;
      stride *= problem.in[i]->dims[axis];
    }
  }
  const int64_t results = count_elements(problem.out[0]->dims);
  constexpr int64_t kResultsPerPiece = 256;
  return {.state = std::move(state), .phases = {ceil_div(results, kResultsPerPiece)}};
}

/// Offset in a value when loops [first, last) are at element `index` of their product.
int64_t einsum_offset(const EinsumState& state, size_t value, size_t first, size_t last, int64_t index) {
  int64_t offset = 0;
  for (size_t loop = last; loop-- > first;) {
    offset += index % state.extents[loop] * state.strides[value][loop];
    index /= state.extents[loop];
  }
  return offset;
}

template <class T>
Total<T> einsum_element(const EinsumState& state, const Call& call, int64_t result) {
  const size_t loops = state.extents.size(), values = call.in.size();
  const bool sums = loops > state.results;
  const int64_t inner = sums ? state.extents.back() : 1;
  int64_t outer = 1;
  for (size_t loop = state.results; loop + 1 < loops; ++loop) outer *= state.extents[loop];
  Total<T> sum = 0;
  for (int64_t o = 0; o < outer; ++o) {
    std::array<const T*, 8> at{};
    std::array<int64_t, 8> step{};
    for (size_t i = 0; i < values; ++i) {
      at[i] = call.in[i].as<const T>() + einsum_offset(state, i, 0, state.results, result) +
              (sums ? einsum_offset(state, i, state.results, loops - 1, o) : 0);
      step[i] = sums ? state.strides[i].back() : 0;
    }
    for (int64_t k = 0; k < inner; ++k) {
      Total<T> product = total_of(at[0][k * step[0]]);
      for (size_t i = 1; i < values; ++i) product *= total_of(at[i][k * step[i]]);
      sum += product;
    }
  }
  return sum;
}

Verdict accept_einsum(const Problem& problem) {
  constexpr size_t kMostValues = 8;
  if (problem.in.size() > kMostValues)
    return refuse(errors::kernel_is_for_other_sizes(fmt::format("{} operands", problem.in.size()),
                                                    fmt::format("at most {}", kMostValues)));
  return accept();
}

Status run_einsum(const Call& call, int, int64_t piece) {
  const auto& state = state_of<EinsumState>(call);
  constexpr int64_t kResultsPerPiece = 256;
  const int64_t end = std::min(call.out[0].size(), (piece + 1) * kResultsPerPiece);
  with_number(call.out[0].dtype, [&]<class T>() {
    for (int64_t i = piece * kResultsPerPiece; i < end; ++i)
      call.out[0].as<T>()[i] = of_total<T>(einsum_element<T>(state, call, i));
  });
  return {};
}

}  // namespace

extern const Kernel reference_gemm{"reference", accept_all, prepare_gemm, run_gemm};
extern const Kernel reference_matmul_broadcast{"reference", accept_all, prepare_matmul, run_matmul};
extern const Kernel reference_einsum{"reference", accept_einsum, prepare_einsum, run_einsum};

}  // namespace halfstep::kernels
