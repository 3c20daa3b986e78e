// Sums over named axes. Sums of floats are in double, in the order of the axes, and rounded once. Integers are summed
// modulo 2^64.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/matrix/batches.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

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

/// `x` has the extents of the values, and `rank` is that of the result.
std::shared_ptr<EinsumState> einsum_state(std::string text, const std::vector<Dims>& x, size_t rank) {
  std::erase(text, ' ');
  const std::vector<std::string> written = split_terms(text.substr(0, text.find("->")));
  std::vector<std::vector<int>> terms;
  for (size_t i = 0; i < written.size(); ++i) terms.push_back(axis_names(written[i], x[i].size()));
  auto state = std::make_shared<EinsumState>();
  std::vector<int> loops = result_names(text, terms, rank);
  state->results = loops.size();
  std::map<int, int64_t> extents;
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t axis = 0; axis < terms[i].size(); ++axis) {
      int64_t& extent = extents.emplace(terms[i][axis], 1).first->second;
      if (x[i][axis] != 1) extent = x[i][axis];
      if (std::find(loops.begin(), loops.end(), terms[i][axis]) == loops.end()) loops.push_back(terms[i][axis]);
    }
  }
  for (const int loop : loops) state->extents.push_back(extents.at(loop));
  for (size_t i = 0; i < terms.size(); ++i) {
    std::vector<int64_t>& strides = state->strides.emplace_back(loops.size(), 0);
    int64_t stride = 1;
    for (size_t axis = terms[i].size(); axis-- > 0;) {
      const auto loop = static_cast<size_t>(std::find(loops.begin(), loops.end(), terms[i][axis]) - loops.begin());
      if (x[i][axis] != 1) strides[loop] += stride;
      stride *= x[i][axis];
    }
  }
  return state;
}

std::vector<Dims> extents_from(const Problem& problem, size_t first) {
  std::vector<Dims> extents;
  for (size_t i = first; i < problem.in.size(); ++i) extents.push_back(problem.in[i]->dims);
  return extents;
}

constexpr int64_t kResultsPerPiece = 256;

Plan prepare_einsum(const Problem& problem) {
  const Dims& out = problem.out[0]->dims;
  return {.state = einsum_state(Einsum(problem.attributes).equation, extents_from(problem, 0), out.size()),
          .phases = {ceil_div(count_elements(out), kResultsPerPiece)}};
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

template <size_t first>
Verdict accept_einsum(const Problem& problem) {
  constexpr size_t kMostValues = 8;
  if (problem.in.size() - first > kMostValues)
    return refuse(errors::kernel_is_for_other_sizes(fmt::format("{} operands", problem.in.size() - first),
                                                    fmt::format("at most {}", kMostValues)));
  return accept();
}

Status run_einsum(const Call& call, int, int64_t piece) {
  const auto& state = state_of<EinsumState>(call);
  const int64_t end = std::min(call.out[0].size(), (piece + 1) * kResultsPerPiece);
  with_number(call.out[0].dtype, [&]<class T>() {
    for (int64_t i = piece * kResultsPerPiece; i < end; ++i)
      call.out[0].as<T>()[i] = of_total<T>(einsum_element<T>(state, call, i));
  });
  return {};
}

struct EinsumGradState {
  std::shared_ptr<EinsumState> loops;
  size_t index;
};

Plan prepare_einsum_grad(const Problem& problem) {
  const EinsumGrad a(problem.attributes);
  const size_t rank = problem.in[EinsumGrad::in::out_grad]->dims.size();
  auto state = std::make_shared<EinsumGradState>(
      einsum_state(a.equation, extents_from(problem, EinsumGrad::in::x), rank), static_cast<size_t>(a.index));
  const auto scratch = static_cast<size_t>(count_elements(problem.out[0]->dims)) * sizeof(double);
  return {.state = std::move(state), .scratch = scratch};
}

/// Adds each product of the gradient and of the other values to the element of x[index] that it multiplies.
Status run_einsum_grad(const Call& call, int, int64_t) {
  const auto& [state, index] = state_of<EinsumGradState>(call);
  const EinsumState& loops = *state;
  const size_t own = index, count = call.in.size() - EinsumGrad::in::x, all = loops.extents.size();
  auto* sums = reinterpret_cast<double*>(call.scratch);
  std::fill_n(sums, call.out[0].size(), 0.0);
  int64_t terms = 1;
  for (size_t loop = loops.results; loop < all; ++loop) terms *= loops.extents[loop];
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* out_grad = call.in[EinsumGrad::in::out_grad].as<const T>();
    for (int64_t result = 0; result < call.in[EinsumGrad::in::out_grad].size(); ++result) {
      for (int64_t term = 0; term < terms; ++term) {
        const auto place = [&](size_t value) {
          return einsum_offset(loops, value, 0, loops.results, result) +
                 einsum_offset(loops, value, loops.results, all, term);
        };
        double product = to_double(out_grad[result]);
        for (size_t i = 0; i < count; ++i) {
          if (i != own) product *= to_double(call.in[EinsumGrad::in::x + i].as<const T>()[place(i)]);
        }
        sums[place(own)] += product;
      }
    }
    for (int64_t i = 0; i < call.out[0].size(); ++i) call.out[0].as<T>()[i] = from_double<T>(sums[i]);
  });
  return {};
}

}  // namespace

extern const Kernel reference_einsum{"reference", accept_einsum<0>, prepare_einsum, run_einsum};
extern const Kernel reference_einsum_grad{"reference", accept_einsum<EinsumGrad::in::x>, prepare_einsum_grad,
                                          run_einsum_grad};

}  // namespace halfstep::kernels
