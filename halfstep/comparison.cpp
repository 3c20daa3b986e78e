#include "halfstep/comparison.h"

#include <algorithm>
#include <cmath>

#include "halfstep/base/elements.h"
#include "halfstep/io/npz.h"
#include "halfstep/io/safetensors.h"
#include "halfstep/verify/numbers.h"

namespace halfstep {
namespace {

bool close(double found, double expected, const Tolerance& tolerance) {
  if (std::isnan(found) || std::isnan(expected)) return std::isnan(found) && std::isnan(expected);
  if (found == expected) return true;
  return std::fabs(found - expected) <= tolerance.absolute + tolerance.relative * std::fabs(expected);
}

}  // namespace

Tensors read_tensors(const std::filesystem::path& path) {
  return path.extension() == ".npz" ? io::read_npz(path) : io::read_safetensors(path).tensors;
}

void write_tensors(const std::filesystem::path& path, const Tensors& tensors) {
  if (path.extension() == ".npz") return io::write_npz(path, tensors);
  io::write_safetensors(path, {tensors, {}});
}

RunComparison compare(const std::string& name, const Tensor& found, const Tensor& expected,
                      const Tolerance& tolerance) {
  RunComparison result{name, found.size(), 0, 0, {}, 0, 0};
  if (tolerance.exact && found.same_bits(expected)) return result;
  const auto width = static_cast<int64_t>(size_of(found.dtype()));
  for (int64_t i = 0; i < found.size(); ++i) {
    const double a = element(found, i);
    const double b = element(expected, i);
    const bool same = tolerance.exact ? std::memcmp(found.raw() + i * width, expected.raw() + i * width,
                                                    static_cast<size_t>(width)) == 0
                                      : close(a, b, tolerance);
    if (!std::isnan(a) && !std::isnan(b))
      result.largest_difference = std::max(result.largest_difference, std::fabs(a - b));
    if (same || result.differing++ > 0) continue;
    result.first_position = verify::position_of(i, found.dims());
    result.first_found = a;
    result.first_expected = b;
  }
  return result;
}

}  // namespace halfstep
