#include "halfstep/io/safetensors.h"

namespace halfstep::io {

Tensor pack_i4(const Tensor& codes) {
  HS_CHECK(codes.dtype() == DType::i4);
  const auto from = codes.data<int8_t>();
  Tensor packed(DType::u8, {(codes.size() + 1) / 2});
  const auto to = packed.data<uint8_t>();
  for (size_t i = 0; i < from.size(); ++i) {
    const int half = from[i] & 0xF;
    to[i / 2] = static_cast<uint8_t>(to[i / 2] | (i % 2 == 0 ? half : half << 4));
  }
  return packed;
}

Tensor unpack_i4(const Tensor& packed, const Dims& dims, const std::string& name) {
  const int64_t count = count_elements(dims);
  const int64_t bytes = count / 2 + count % 2;
  if (packed.type() != Type{DType::u8, {bytes}})
    fail("{}: found {}, expected u8[{}] with the 4-bit codes of {}", name, to_string(packed.type()), bytes,
         to_string(dims));
  Tensor codes(DType::i4, dims);
  const auto from = packed.data<uint8_t>();
  const auto to = codes.data<int8_t>();
  for (size_t i = 0; i < to.size(); ++i) {
    const int half = from[i / 2] >> (i % 2 == 0 ? 0 : 4) & 0xF;
    to[i] = static_cast<int8_t>((half ^ 8) - 8);  // the top bit of the four is the sign
  }
  if (count % 2 == 1 && from.back() >> 4 != 0) fail("{}: the unused last half byte is not zero", name);
  return codes;
}

}  // namespace halfstep::io
