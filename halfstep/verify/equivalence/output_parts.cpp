#include "halfstep/verify/equivalence/output_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace halfstep::verify {

std::string name_of(const OutputPart& part) {
  return part.axis < 0 ? fmt::format("output '{}'", part.output)
                       : fmt::format("output '{}' at index {} of axis {}", part.output, part.index, part.axis);
}

std::vector<int64_t> part_axes(const Dims& dims) {
  const int64_t last = std::ssize(dims) - 1;
  if (last < 1) return {};
  return last == 1 ? std::vector<int64_t>{1} : std::vector<int64_t>{1, last};
}

void OutputParts::add(const std::string& output, const Tensor& wanted, const Tensor& found) {
  if (wanted.dtype() != DType::f32 || wanted.type() != found.type()) return;
  if (std::ranges::find(order_, output) == order_.end()) order_.push_back(output);
  std::vector<int64_t> axes = part_axes(wanted.dims());
  axes.insert(axes.begin(), -1);
  const auto a = wanted.data<float>(), b = found.data<float>();
  for (const int64_t axis : axes) {
    const Dims& dims = wanted.dims();
    const auto count = axis < 0 ? size_t{1} : static_cast<size_t>(dims[static_cast<size_t>(axis)]);
    const size_t behind = axis < 0 ? 0 : static_cast<size_t>(axis) + 1;
    const auto run = std::max<size_t>(1, static_cast<size_t>(count_elements(std::span(dims).subspan(behind))));
    std::vector<Likeness>& sums = sums_[{output, axis}];
    sums.resize(std::max(sums.size(), count));
    for (size_t begin = 0; begin + run <= a.size(); begin += run)
      sums[begin / run % count].add(a.subspan(begin, run), b.subspan(begin, run));
  }
}

std::vector<OutputPart> OutputParts::parts() const {
  std::vector<OutputPart> parts;
  for (const std::string& output : order_) {
    for (auto along = sums_.lower_bound({output, -1}); along != sums_.end() && along->first.first == output; ++along) {
      for (size_t i = 0; i < along->second.size(); ++i) {
        const Likeness& sums = along->second[i];
        if (sums.signal > 0) parts.push_back({output, along->first.second, static_cast<int64_t>(i), sums});
      }
    }
  }
  return parts;
}

const OutputPart* worst_of(const std::vector<OutputPart>& parts) {
  const auto worst = std::ranges::min_element(parts, {}, [](const OutputPart& part) { return part.sums.sqnr_db(); });
  return worst == parts.end() ? nullptr : &*worst;
}

}  // namespace halfstep::verify
