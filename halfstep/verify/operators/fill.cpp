#include <algorithm>
#include <cmath>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/random.h"
#include "halfstep/verify/operators/problem.h"

namespace halfstep::verify {
namespace {

constexpr int64_t kSpecialEvery = 13;
constexpr int64_t kFirstSpecial = 5;

const std::vector<double>* entry(const std::map<std::string, std::vector<double>>& table, const std::string& port) {
  const auto found = table.find(port);
  return found == table.end() || found->second.empty() ? nullptr : &found->second;
}

bool is_real(DType dtype) { return is_float(dtype) || is_small_float(dtype); }

/// The range of random values for the element type.
std::pair<double, double> bounds(DType dtype, const std::vector<double>* domain) {
  const bool narrow = size_of(dtype) == 1 && !is_small_float(dtype);
  if (domain == nullptr && narrow) return whole_range(dtype);
  if (domain == nullptr && dtype == DType::u16) return {0, 4095};
  const double widest = is_real(dtype) ? 2 : 9;
  const std::pair<double, double> wanted =
      domain == nullptr ? std::pair(-widest, widest) : std::pair((*domain)[0], (*domain)[1]);
  if (is_real(dtype)) return wanted;
  const auto [lowest, highest] = whole_range(dtype);
  return {std::max(std::ceil(wanted.first), lowest), std::min(std::floor(wanted.second), highest)};
}

double draw(Random& random, DType dtype, std::pair<double, double> range) {
  const auto [low, high] = range;
  if (is_real(dtype)) return low + (high - low) * static_cast<double>(random.uniform());
  return low + static_cast<double>(random.below(static_cast<uint64_t>(high - low) + 1));
}

Tensor fill(const Type& type, const std::string& port, const OpTest& record, Random random, Specials specials) {
  Tensor tensor(type.dtype, type.dims);
  const std::vector<double>* values = entry(record.values, port);
  const std::vector<double>* special = specials == Specials::none ? nullptr : entry(record.special, port);
  const auto range = bounds(type.dtype, entry(record.domain, port));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    double value = draw(random, type.dtype, range);
    if (values != nullptr) value = (*values)[static_cast<size_t>(i) % values->size()];
    if (special != nullptr && is_real(type.dtype) && i % kSpecialEvery == kFirstSpecial)
      value = (*special)[static_cast<size_t>(i / kSpecialEvery) % special->size()];
    set_element(tensor, i, value);
  }
  return tensor;
}

}  // namespace

std::vector<Tensor> fill_operands(const Problem& problem, const OpTest& record, uint64_t seed, Specials specials) {
  std::vector<Tensor> operands;
  const auto& ports = problem.info->inputs;
  for (size_t i = 0; i < problem.use.in.size(); ++i) {
    const auto& type = problem.use.in[i];
    const std::string& port = ports[std::min(i, ports.size() - 1)].name;
    operands.push_back(type ? fill(*type, port, record, Random(seed, i), specials) : Tensor());
  }
  return operands;
}

}  // namespace halfstep::verify
