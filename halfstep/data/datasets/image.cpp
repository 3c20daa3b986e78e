#include "halfstep/data/datasets/image.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "halfstep/core/files/magic.h"
#include "halfstep/data/datasets/errors.h"

namespace halfstep::data {
namespace {

using std::string_view_literals::operator""sv;

struct OtherKind {
  std::string_view magic;
  size_t at;
  std::array<std::string_view, 2> endings;
  std::string_view name;
};

constexpr std::array kOthers = {
    OtherKind{"WEBP"sv, 8, {".webp"}, "a WebP image"},
    OtherKind{"GIF8"sv, 0, {".gif"}, "a GIF image"},
    OtherKind{"BM"sv, 0, {".bmp"}, "a BMP image"},
    OtherKind{"II*\0"sv, 0, {".tif", ".tiff"}, "a TIFF image"},
    OtherKind{"MM\0*"sv, 0, {".tif", ".tiff"}, "a TIFF image"},
    OtherKind{"ftyphei"sv, 4, {".heic", ".heif"}, "a HEIF image"},
    OtherKind{"ftypavi"sv, 4, {".avif"}, "an AVIF image"},
};

std::string lower_ending(std::string_view path) {
  const size_t dot = path.rfind('.');
  std::string ending(dot == std::string_view::npos ? "" : path.substr(dot));
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending;
}

[[noreturn]] void fail_format(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.empty()) fail(errors::image_empty(name));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const OtherKind& kind : kOthers) {
    if (text.size() > kind.at && text.substr(kind.at).starts_with(kind.magic))
      fail(errors::image_form_unknown(name, kind.name));
  }
  fail(errors::image_form_unknown(name, "another kind of file"));
}

bool is_png(std::span<const std::byte> bytes) { return io::starts_with(bytes, {0x89, 'P', 'N', 'G'}); }
bool is_jpeg(std::span<const std::byte> bytes) { return io::starts_with(bytes, {0xFF, 0xD8, 0xFF}); }

}  // namespace

Tensor decode_image(std::span<const std::byte> bytes, const std::string& name) {
  if (is_png(bytes)) return decode_png(bytes, name);
  if (is_jpeg(bytes)) return decode_jpeg(bytes, name);
  fail_format(bytes, name);
}

ImageHeader image_header(std::span<const std::byte> bytes, const std::string& name) {
  if (is_png(bytes)) return png_header(bytes, name);
  if (is_jpeg(bytes)) return jpeg_header(bytes, name);
  fail_format(bytes, name);
}

bool is_image_name(std::string_view path) {
  const std::string ending = lower_ending(path);
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

std::string_view other_image_kind(std::string_view path) {
  const std::string ending = lower_ending(path);
  if (ending.empty()) return "";
  for (const OtherKind& kind : kOthers) {
    if (std::ranges::find(kind.endings, ending) != kind.endings.end()) return kind.name;
  }
  return "";
}

}  // namespace halfstep::data
