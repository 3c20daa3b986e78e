// libpng reports errors by longjmp, so functions that call setjmp must not own objects with a destructor.
#include <fmt/format.h>
#include <png.h>

#include <array>
#include <csetjmp>
#include <cstdio>

#include "halfstep/data/datasets/errors.h"
#include "halfstep/data/datasets/exif.h"
#include "halfstep/data/datasets/image.h"

namespace halfstep::data {
namespace {

struct PngReader {
  std::span<const std::byte> left;
  std::array<char, 128> message{};
};

void on_error(png_structp png, png_const_charp message) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::snprintf(reader->message.data(), reader->message.size(), "%s", message);
  png_longjmp(png, 1);
}

void on_warning(png_structp /*png*/, png_const_charp /*message*/) {}

void on_read(png_structp png, png_bytep to, size_t count) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (count > reader->left.size()) png_error(png, "the data ends early");
  std::memcpy(to, reader->left.data(), count);
  reader->left = reader->left.subspan(count);
}

/// Reads the header and requests 8-bit grey or RGB, or with `as_stored` the numbers in the file, a byte each. Returns
/// false if the image is damaged.
bool read_png_header(png_structp png, png_infop info, bool as_stored) {
  constexpr png_uint_32 kMaxExtent = 1U << 15;
  constexpr png_alloc_size_t kMaxChunk = size_t{1} << 24;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_user_limits(png, kMaxExtent, kMaxExtent);
  png_set_chunk_malloc_max(png, kMaxChunk);
  png_set_chunk_cache_max(png, 128);
  png_read_info(png, info);
  if (as_stored) {
    png_set_packing(png);
  } else {
    png_set_expand(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
  }
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return true;
}

bool read_png_pixels(png_structp png, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_image(png, rows);
  png_read_end(png, nullptr);
  return true;
}

/// Owns both structures of libpng.
class Png {
 public:
  explicit Png(PngReader& reader)
      : png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning)),
        info_(png_ == nullptr ? nullptr : png_create_info_struct(png_)) {
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png_, &reader, on_read);
  }
  ~Png() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
  png_structp png() const { return png_; }
  png_infop info() const { return info_; }

 private:
  png_structp png_;
  png_infop info_;
};

ImageHeader png_info_of(const Png& png, const PngReader& reader, const std::string& name, bool as_stored = false) {
  if (!read_png_header(png.png(), png.info(), as_stored))
    fail(errors::image_damaged(name, "PNG", reader.message.data()));
  ImageHeader header{{png_get_image_height(png.png(), png.info()), png_get_image_width(png.png(), png.info())},
                     png_get_channels(png.png(), png.info())};
  if (header.size.height * header.size.width > kMaxPixels)
    fail(errors::image_too_large(name, header.size.text(), kMaxPixels));
  png_uint_32 count = 0;
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(png.png(), png.info(), &count, &exif) != 0)
    header.orientation = exif_orientation({reinterpret_cast<const std::byte*>(exif), count});
  return header;
}

}  // namespace

ImageHeader png_header(std::span<const std::byte> bytes, const std::string& name) {
  PngReader reader{bytes};
  return png_info_of(Png(reader), reader, name);
}

namespace {

Tensor pixels_of(const Png& png, const PngReader& reader, const ImageHeader& header, const std::string& name) {
  const auto& [size, channels, orientation] = header;
  HS_CHECK(png_get_rowbytes(png.png(), png.info()) == static_cast<size_t>(size.width * channels));
  Tensor image(DType::u8, {size.height, size.width, channels});
  std::vector<png_bytep> rows;
  for (int64_t y = 0; y < size.height; ++y) rows.push_back(image.data<uint8_t>().data() + y * size.width * channels);
  if (!read_png_pixels(png.png(), rows.data())) fail(errors::image_damaged(name, "PNG", reader.message.data()));
  return image;
}

}  // namespace

Tensor decode_png(std::span<const std::byte> bytes, const std::string& name) {
  PngReader reader{bytes};
  const Png png(reader);
  return pixels_of(png, reader, png_info_of(png, reader, name), name);
}

Tensor decode_classes(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() < 8 || png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, 8) != 0)
    fail(errors::mask_not_classes(name, "another kind of image"));
  PngReader reader{bytes};
  const Png png(reader);
  const ImageHeader header = png_info_of(png, reader, name, true);
  const int bits = png_get_bit_depth(png.png(), png.info());
  if (header.channels != 1 || bits > 8)
    fail(errors::mask_not_classes(
        name, header.channels == 1 ? fmt::format("{} bits", bits) : fmt::format("{} channels", header.channels)));
  return pixels_of(png, reader, header, name);
}

std::vector<std::byte> encode_png(const Tensor& image) {
  png_image description{};
  description.version = PNG_IMAGE_VERSION;
  description.height = static_cast<png_uint_32>(image.dims()[0]);
  description.width = static_cast<png_uint_32>(image.dims()[1]);
  description.format = image.dims()[2] == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  const uint8_t* pixels = image.data<uint8_t>().data();
  png_alloc_size_t size = 0;
  HS_CHECK(png_image_write_to_memory(&description, nullptr, &size, 0, pixels, 0, nullptr) != 0);
  std::vector<std::byte> bytes(size);
  HS_CHECK(png_image_write_to_memory(&description, bytes.data(), &size, 0, pixels, 0, nullptr) != 0);
  bytes.resize(size);
  return bytes;
}

}  // namespace halfstep::data
