// libjpeg reports errors by longjmp: functions that call setjmp own nothing with a destructor.
#include <csetjmp>
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

#include "halfstep/io/image.h"

namespace halfstep::io {
namespace {

struct ErrorManager {
  jpeg_error_mgr manager;  ///< first, so that libjpeg's pointer to it is a pointer to us
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* error = reinterpret_cast<ErrorManager*>(info->err);
  error->manager.format_message(info, error->message);
  std::longjmp(error->jump, 1);
}

/// Negative levels are warnings, which mean damaged or truncated data: pixels made up by libjpeg are not wanted.
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

bool read_header(jpeg_decompress_struct& decoder, ErrorManager& error, std::span<const std::byte> bytes) {
  if (setjmp(error.jump) != 0) return false;
  jpeg_create_decompress(&decoder);
  jpeg_mem_src(&decoder, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&decoder, TRUE);
  return true;
}

bool read_pixels(jpeg_decompress_struct& decoder, ErrorManager& error, uint8_t* to, size_t row_bytes) {
  if (setjmp(error.jump) != 0) return false;
  decoder.out_color_space = decoder.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  decoder.dct_method = JDCT_ISLOW;  // the exact integer transform: the same pixels on every CPU
  jpeg_start_decompress(&decoder);
  while (decoder.output_scanline < decoder.output_height) {
    JSAMPROW row = to + decoder.output_scanline * row_bytes;
    jpeg_read_scanlines(&decoder, &row, 1);
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

}  // namespace

Tensor decode_jpeg(std::span<const std::byte> bytes, const std::string& name) {
  Jpeg jpeg;
  if (!read_header(jpeg.decoder, jpeg.error, bytes)) fail("{}: damaged JPEG image: {}", name, jpeg.error.message);
  const int64_t height = jpeg.decoder.image_height, width = jpeg.decoder.image_width;
  const int components = jpeg.decoder.num_components;
  if (height * width > kMaxPixels)
    fail("{}: found {} x {} pixels, expected at most {}", name, width, height, kMaxPixels);
  if (components != 1 && components != 3)
    unsupported("{}: JPEG images of {} components are not supported, expected grey or colour", name, components);
  jpeg.watch_progress();
  Tensor image(DType::u8, {height, width, components});
  if (!read_pixels(jpeg.decoder, jpeg.error, image.data<uint8_t>().data(), static_cast<size_t>(width * components)))
    fail("{}: damaged JPEG image: {}", name, jpeg.error.message);
  return image;
}

}  // namespace halfstep::io
