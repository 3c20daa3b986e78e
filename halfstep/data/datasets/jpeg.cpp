// libjpeg reports errors by longjmp, so functions that call setjmp must not own objects with a destructor.
#include <jpeglib.h>

#include <csetjmp>
#include <cstddef>
#include <cstdio>

#include "halfstep/core/files/magic.h"
#include "halfstep/data/datasets/errors.h"
#include "halfstep/data/datasets/exif.h"
#include "halfstep/data/datasets/image.h"

namespace halfstep::data {
namespace {

constexpr int kExifMarker = JPEG_APP0 + 1;

struct ErrorManager {
  jpeg_error_mgr manager;  ///< first member, because libjpeg's pointer to it is cast to ErrorManager
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* error = reinterpret_cast<ErrorManager*>(info->err);
  error->manager.format_message(info, error->message);
  std::longjmp(error->jump, 1);
}

/// Negative levels are warnings of damaged or truncated data. They are errors here, because libjpeg would invent
/// pixels.
void on_message(j_common_ptr info, int level) {
  if (level < 0) on_error(info);
}

void on_output(j_common_ptr /*info*/) {}

/// A progressive image may have any number of scans, each of which costs a pass over all pixels.
void on_progress(j_common_ptr info) {
  constexpr int kMaxScans = 100;
  auto* decoder = reinterpret_cast<j_decompress_ptr>(info);
  if (decoder->input_scan_number > kMaxScans) {
    auto* error = reinterpret_cast<ErrorManager*>(info->err);
    std::snprintf(error->message, sizeof(error->message), "more than %d scans", kMaxScans);
    std::longjmp(error->jump, 1);
  }
}

bool read_jpeg_header(jpeg_decompress_struct& decoder, ErrorManager& error, std::span<const std::byte> bytes) {
  if (setjmp(error.jump) != 0) return false;
  jpeg_create_decompress(&decoder);
  jpeg_mem_src(&decoder, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_save_markers(&decoder, kExifMarker, 0xFFFF);
  jpeg_read_header(&decoder, TRUE);
  return true;
}

/// c * k / 255, rounded.
uint8_t scaled(int c, int k) {
  const int product = c * k + 128;
  return static_cast<uint8_t>((product + (product >> 8)) >> 8);
}

/// Converts CMYK to RGB. The inks are stored inverted, as Adobe and all later programs do.
void inks_to_rgb(const uint8_t* inks, int64_t width, uint8_t* to) {
  for (const uint8_t* end = inks + 4 * width; inks < end; inks += 4) {
    for (int c = 0; c < 3; ++c) *to++ = static_cast<uint8_t>(inks[3] - scaled(255 - inks[c], inks[3]));
  }
}

/// `inks` must have room for one row of a four-component image.
bool read_jpeg_pixels(jpeg_decompress_struct& decoder, ErrorManager& error, uint8_t* to, uint8_t* inks) {
  if (setjmp(error.jump) != 0) return false;
  const int components = decoder.num_components;
  decoder.out_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
  decoder.dct_method = JDCT_ISLOW;  // the exact integer transform: the same pixels on every CPU
  jpeg_start_decompress(&decoder);
  const size_t row_bytes = size_t{decoder.output_width} * (components == 1 ? 1 : 3);
  while (decoder.output_scanline < decoder.output_height) {
    uint8_t* out = to + decoder.output_scanline * row_bytes;
    JSAMPROW row = components == 4 ? inks : out;
    jpeg_read_scanlines(&decoder, &row, 1);
    if (components == 4) inks_to_rgb(inks, decoder.output_width, out);
  }
  jpeg_finish_decompress(&decoder);
  return true;
}

class Jpeg {
 public:
  Jpeg() {
    decoder.err = jpeg_std_error(&error.manager);
    error.manager.error_exit = on_error;
    error.manager.emit_message = on_message;
    error.manager.output_message = on_output;
    progress_.progress_monitor = on_progress;
  }
  ~Jpeg() { jpeg_destroy_decompress(&decoder); }
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;
  void watch_progress() { decoder.progress = &progress_; }

  jpeg_decompress_struct decoder{};
  ErrorManager error{};

 private:
  jpeg_progress_mgr progress_{};
};

int orientation_of(const jpeg_decompress_struct& decoder) {
  constexpr size_t kName = 6;  // "Exif" and two zeros
  for (auto marker = decoder.marker_list; marker != nullptr; marker = marker->next) {
    const std::span data(reinterpret_cast<const std::byte*>(marker->data), marker->data_length);
    if (io::starts_with(data, {'E', 'x', 'i', 'f', 0, 0})) return exif_orientation(data.subspan(kName));
  }
  return 1;
}

ImageHeader jpeg_info_of(Jpeg& jpeg, std::span<const std::byte> bytes, const std::string& name) {
  if (!read_jpeg_header(jpeg.decoder, jpeg.error, bytes)) fail(errors::image_damaged(name, "JPEG", jpeg.error.message));
  const int components = jpeg.decoder.num_components;
  const ImageHeader header{
      {jpeg.decoder.image_height, jpeg.decoder.image_width}, components == 1 ? 1 : 3, orientation_of(jpeg.decoder)};
  if (header.size.height * header.size.width > kMaxPixels)
    fail(errors::image_too_large(name, header.size.text(), kMaxPixels));
  if (components != 1 && components != 3 && components != 4)
    fail(errors::jpeg_components_unsupported(name, components));
  return header;
}

}  // namespace

ImageHeader jpeg_header(std::span<const std::byte> bytes, const std::string& name) {
  Jpeg jpeg;
  return jpeg_info_of(jpeg, bytes, name);
}

Tensor decode_jpeg(std::span<const std::byte> bytes, const std::string& name) {
  Jpeg jpeg;
  const auto [size, channels, orientation] = jpeg_info_of(jpeg, bytes, name);
  jpeg.watch_progress();
  Tensor image(DType::u8, {size.height, size.width, channels});
  std::vector<uint8_t> inks(jpeg.decoder.num_components == 4 ? static_cast<size_t>(4 * size.width) : 0);
  if (!read_jpeg_pixels(jpeg.decoder, jpeg.error, image.data<uint8_t>().data(), inks.data()))
    fail(errors::image_damaged(name, "JPEG", jpeg.error.message));
  return image;
}

}  // namespace halfstep::data
