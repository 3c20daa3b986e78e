#include "halfstep/verify/operators/tensor_numbers.h"

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/element_values.h"

namespace halfstep::verify {
namespace {

template <class At>
void read_all(std::span<const int64_t> indices, std::span<double> to, At at) {
  for (size_t i = 0; i < indices.size(); ++i) to[i] = indices[i] < 0 ? 0.0 : at(static_cast<size_t>(indices[i]));
}

}  // namespace

void Numbers::read(std::span<const int64_t> indices, std::span<double> to) const {
  const auto read_as = [&](auto elements) {
    read_all(indices, to,
             [&](size_t i) { return (static_cast<double>(elements[i]) - static_cast<double>(zero_point)) * scale; });
  };
  switch (tensor.dtype()) {
    case DType::u8: return read_as(tensor.data<uint8_t>());
    case DType::u16: return read_as(tensor.data<uint16_t>());
    case DType::f32: return read_as(tensor.data<float>());
    case DType::f64: return read_as(tensor.data<double>());
    default: break;
  }
  read_all(indices, to, [&](size_t i) {
    return (element(tensor, static_cast<int64_t>(i)) - static_cast<double>(zero_point)) * scale;
  });
}

Tensor Numbers::operand() const {
  if (!codes && (!is_float(tensor.dtype()) || tensor.dtype() == DType::f64)) return tensor;
  Tensor floats(DType::f64, tensor.dims());
  std::vector<int64_t> all(static_cast<size_t>(tensor.size()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  read(all, floats.data<double>());
  return floats;
}

Dims position_of(int64_t index, std::span<const int64_t> dims) {
  Dims position(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    position[axis] = index % dims[axis];
    index /= dims[axis];
  }
  return position;
}

int64_t nhwc_index(const Dims& position, std::span<const int64_t> dims) {
  if (position.size() != 3) return -1;
  return (position[1] * dims[2] + position[2]) * dims[0] + position[0];
}

std::vector<int64_t> spread_indices(const Dims& dims, size_t axis, int64_t wanted, Random random) {
  const int64_t total = count_elements(dims), channels = dims.size() > axis ? dims[axis] : 1;
  if (total == 0) return {};
  const int64_t places = total / channels, count = std::min(places, ceil_div(wanted, channels));
  const int64_t run = dims.size() > axis ? count_elements(std::span(dims).subspan(axis + 1)) : 1;
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = places * i / count, end = places * (i + 1) / count;
    const int64_t place = begin + static_cast<int64_t>(random.below(static_cast<uint64_t>(end - begin)));
    for (int64_t c = 0; c < channels; ++c) indices.push_back((place / run * channels + c) * run + place % run);
  }
  return indices;
}

}  // namespace halfstep::verify
