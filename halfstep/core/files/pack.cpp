#include "halfstep/core/base/divide.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/safetensors.h"

namespace halfstep::io {
Tensor pack(const Tensor& codes) {
  const int bits = bits_of(codes.dtype());
  HS_CHECK(bits <= 8);
  const int64_t per_byte = 8 / bits;
  const auto* from = reinterpret_cast<const uint8_t*>(codes.raw());
  Tensor packed(DType::u8, {ceil_div(codes.size(), per_byte)});
  const auto to = packed.data<uint8_t>();
  const int mask = (1 << bits) - 1;
  for (int64_t i = 0; i < codes.size(); ++i) {
    uint8_t& byte = to[static_cast<size_t>(i / per_byte)];
    byte = static_cast<uint8_t>(byte | (from[i] & mask) << (i % per_byte * bits));
  }
  return packed;
}

Tensor unpack(const Tensor& packed, const Type& type, const std::string& name) {
  const int bits = bits_of(type.dtype);
  HS_CHECK(bits <= 8);
  const int64_t per_byte = 8 / bits;
  const int64_t count = count_elements(type.dims);
  const int64_t bytes = count / per_byte + (count % per_byte != 0 ? 1 : 0);
  if (packed.type() != Type{DType::u8, {bytes}})
    fail(errors::packed_codes_size(name, to_string(packed.type()), bytes, bits, to_string(type.dims)));
  Tensor codes(type.dtype, type.dims);
  const auto from = packed.data<uint8_t>();
  auto* to = reinterpret_cast<uint8_t*>(codes.raw());
  const int mask = (1 << bits) - 1;
  const int sign = is_signed(type.dtype) ? 1 << (bits - 1) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const int code = from[static_cast<size_t>(i / per_byte)] >> (i % per_byte * bits) & mask;
    to[i] = static_cast<uint8_t>((code ^ sign) - sign);
  }
  if (count % per_byte != 0 && from.back() >> (count % per_byte * bits) != 0) fail(errors::packed_codes_rest(name));
  return codes;
}

}  // namespace halfstep::io
