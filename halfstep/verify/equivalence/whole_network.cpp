#include "halfstep/verify/equivalence/whole_network.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/verify/equivalence/compared_programs.h"

namespace halfstep::verify {
namespace {

/// Distances relative to the length of the output for the sample alone. Equal float results only differ by the order of
/// their sums. Equal codes do not differ at all. A code that is read from another sample differs by far more.
constexpr double kSameFloats = 1e-4, kMostMoved = 1e-2;

bool is_float_matrix(Value value) {
  const Dims& dims = value.dims();
  return value.is_tensor() && is_float(value.dtype()) &&
         std::ranges::count_if(dims, [](int64_t extent) { return extent != 1; }) > 1;
}

/// Integers and booleans of the source model that do not depend on float inputs, nor on operators with weights. Such
/// operators read a stored matrix.
class ExactIntegers {
 public:
  explicit ExactIntegers(const Graph& source) {
    for (const Value argument : source.arguments()) note(argument, is_float(argument.dtype()));
    for (Op op : source.ops()) {
      const bool is_reached = reaches(op);
      for (const Value result : op.results()) note(result, is_reached);
    }
  }

  /// Names of these values that `integer` has too.
  std::vector<std::string> shared_with(const Graph& integer) const {
    std::vector<std::string> names;
    for (const Value value : exact_) {
      const Value other = integer.value(value.name());
      if (other && other.producer() && other.dtype() == value.dtype()) names.push_back(value.name());
    }
    return names;
  }

 private:
  void note(Value value, bool is_reached) {
    if (is_reached)
      reached_.insert(value.node());
    else if (value.producer() && !is_float(value.dtype()))
      exact_.push_back(value);
  }

  bool reaches(Op op) const {
    if (op.info().flow != Flow::none) return true;
    if (op.is<ops::Positions>()) return false;  // depends on extents only
    const std::vector<Value> operands = op.operands();
    return std::ranges::any_of(
        operands, [&](Value value) { return value && (reached_.contains(value.node()) || is_float_matrix(value)); });
  }

  std::vector<Value> exact_;
  std::set<const detail::ValueNode*> reached_;
};

std::vector<std::string> outputs_of(const Model& model) {
  std::vector<std::string> names;
  for (const Value output : model.graph.outputs()) names.push_back(output.name());
  return names;
}

void compare_integers(const Tensors& source, const Tensors& integer, const std::vector<std::string>& names,
                      WholeNetwork& found) {
  for (const std::string& name : names) {
    const Tensor &wanted = source.at(name), &given = integer.at(name);
    if (wanted.dims() != given.dims()) continue;
    found.integers += wanted.size();
    if (wanted.same_bits(given)) continue;
    for (int64_t i = 0; i < wanted.size(); ++i) {
      const double a = element(wanted, i), b = element(given, i);
      if (a == b) continue;
      ++found.differing;
      if (!found.index) found.index = IndexFault{name, i, static_cast<int64_t>(b), static_cast<int64_t>(a)};
    }
  }
}

/// The distance between row `row` of `batch` and `alone`, which has one row. Nothing if the shapes or types do not
/// match.
std::optional<double> distance(const Tensor& batch, int64_t rows, int64_t row, const Tensor& alone) {
  const Dims &a = batch.dims(), &b = alone.dims();
  const bool fits = batch.dtype() == DType::f32 && alone.dtype() == DType::f32 && !a.empty() && a.size() == b.size() &&
                    a[0] == rows && b[0] == 1 && std::equal(a.begin() + 1, a.end(), b.begin() + 1);
  if (!fits || alone.size() == 0) return std::nullopt;
  const auto one = alone.data<float>();
  const auto in_batch = batch.data<float>().subspan(static_cast<size_t>(row) * one.size(), one.size());
  double squares = 0, length = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    const double expected = static_cast<double>(one[i]), difference = static_cast<double>(in_batch[i]) - expected;
    if (!std::isfinite(difference)) continue;
    squares += difference * difference;
    length += expected * expected;
  }
  if (squares == 0) return 0.0;
  return length == 0 ? 1.0 : std::sqrt(squares / length);
}

/// A network that runs batches and single samples.
class BatchRuns {
 public:
  BatchRuns(const Model& model, ThreadPool& pool) : model_(model), pool_(pool), outputs_(outputs_of(model)) {}

  Tensors run(const Tensors& inputs, const std::vector<std::string>& also = {}) {
    const auto extents = extents_of(inputs);
    if (!programs_.contains(extents)) {
      std::vector<std::string> fetch;  // without duplicates, because two outputs can be one value
      for (const auto* names : {&std::as_const(outputs_), &also}) {
        for (const std::string& name : *names) {
          if (std::ranges::find(fetch, name) == fetch.end()) fetch.push_back(name);
        }
      }
      programs_.emplace(extents, program_of(model_, inputs, fetch));
    }
    return programs_.at(extents).run(inputs, pool_);
  }
  const std::vector<std::string>& outputs() const { return outputs_; }

 private:
  const Model& model_;
  ThreadPool& pool_;
  std::vector<std::string> outputs_;
  std::map<std::vector<Dims>, runtime::Program> programs_;
};

/// Results of a network for a batch, and for one of its samples alone.
struct BatchAndAlone {
  const Tensors &batch, &alone;
  const std::vector<std::string>& outputs;

  std::optional<double> distance_of(size_t output, int64_t rows, int64_t row) const {
    return distance(batch.at(outputs[output]), rows, row, alone.at(outputs[output]));
  }
};

std::optional<MovedSample> moved(const BatchAndAlone& source, const BatchAndAlone& integer, int64_t rows, int64_t row) {
  for (size_t i = 0; i < source.outputs.size() && i < integer.outputs.size(); ++i) {
    const auto floats = source.distance_of(i, rows, row), codes = integer.distance_of(i, rows, row);
    if (floats && codes && *floats <= kSameFloats && *codes > kMostMoved)
      return MovedSample{source.outputs[i], row, *codes};
  }
  return std::nullopt;
}

}  // namespace

WholeNetwork check_whole_network(const Model& source, const Model& integer, const BatchSource& samples, int64_t batch,
                                 ThreadPool& pool) {
  WholeNetwork found{.batch = batch, .index = {}, .sample = {}};
  const auto names = ExactIntegers(source.graph).shared_with(integer.graph);
  BatchRuns floats(source, pool), codes(integer, pool);
  const Tensors inputs = samples(0, batch);
  const Tensors of_source = floats.run(inputs, names), of_integer = codes.run(inputs, names);
  compare_integers(of_source, of_integer, names, found);
  const Dims first = source.graph.arguments().front().dims();
  const bool can_be_alone = batch > 1 && !first.empty() && first[0] == kUnknown;
  for (int64_t sample = 0; can_be_alone && sample < batch; ++sample) {
    const Tensors alone = samples(sample, 1);
    const Tensors source_alone = floats.run(alone), integer_alone = codes.run(alone);
    const auto one =
        moved({of_source, source_alone, floats.outputs()}, {of_integer, integer_alone, codes.outputs()}, batch, sample);
    if (!one) continue;
    ++found.moved;
    if (!found.sample) found.sample = one;
  }
  return found;
}

}  // namespace halfstep::verify
