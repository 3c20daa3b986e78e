#include "halfstep/io/image.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "halfstep/io/magic.h"

namespace halfstep::io {

Tensor decode_image(std::span<const std::byte> bytes, const std::string& name) {
  if (starts_with(bytes, {0x89, 'P', 'N', 'G'})) return decode_png(bytes, name);
  if (starts_with(bytes, {0xFF, 0xD8, 0xFF})) return decode_jpeg(bytes, name);
  fail("{}: found neither a PNG nor a JPEG image", name);
}

bool is_image_name(std::string_view path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return false;
  std::string ending(path.substr(dot));
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

}  // namespace halfstep::io
