// gzip and zstd behind Source.
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "halfstep/base/status.h"
#include "halfstep/io/source.h"

namespace halfstep::io {
namespace {

/// Compressed input in pieces, starting with bytes that were read to tell the format.
class Input {
 public:
  Input(std::unique_ptr<Source> source, std::span<const std::byte> start)
      : source_(std::move(source)), filled_(start.size()) {
    std::copy(start.begin(), start.end(), buffer_.begin());
  }

  /// What is left of the present piece, or the next piece; empty at the end.
  std::span<const std::byte> available() {
    if (used_ == filled_) {
      used_ = 0;
      filled_ = source_->read(buffer_);
    }
    return std::span(buffer_).subspan(used_, filled_ - used_);
  }
  void consume(size_t count) { used_ += count; }

 private:
  std::unique_ptr<Source> source_;
  std::array<std::byte, size_t{1} << 16> buffer_;
  size_t used_ = 0;
  size_t filled_;
};

class PlainSource : public Source {
 public:
  PlainSource(std::string name, std::unique_ptr<Input> input) : Source(std::move(name)), input_(std::move(input)) {}

  size_t read(std::span<std::byte> to) override {
    size_t done = 0;
    while (done < to.size()) {
      const auto from = input_->available();
      if (from.empty()) break;
      const size_t count = std::min(from.size(), to.size() - done);
      std::copy_n(from.begin(), count, to.begin() + static_cast<ptrdiff_t>(done));
      input_->consume(count);
      done += count;
    }
    return done;
  }

 private:
  std::unique_ptr<Input> input_;
};

class GzipSource : public Source {
 public:
  GzipSource(std::string name, std::unique_ptr<Input> input) : Source(std::move(name)), input_(std::move(input)) {
    constexpr int kLargestWindowWithGzipHeader = 15 + 16;
    HS_CHECK(inflateInit2(&stream_, kLargestWindowWithGzipHeader) == Z_OK);
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  size_t read(std::span<std::byte> to) override {
    size_t done = 0;
    while (done < to.size()) {
      const auto from = input_->available();
      if (from.empty() && between_members_) break;
      if (from.empty()) fail("{}: gzip data ends early, after {} bytes of contents", name(), total_ + done);
      done += inflate_some(from, to.subspan(done));
    }
    total_ += done;
    return done;
  }

 private:
  size_t inflate_some(std::span<const std::byte> from, std::span<std::byte> to) {
    constexpr size_t kMost = size_t{1} << 30;  // zlib counts in 32 bits
    const size_t room = std::min(to.size(), kMost);
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(from.data()));
    stream_.avail_in = static_cast<uInt>(from.size());
    stream_.next_out = reinterpret_cast<Bytef*>(to.data());
    stream_.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    input_->consume(from.size() - stream_.avail_in);
    between_members_ = result == Z_STREAM_END;
    if (result == Z_STREAM_END) {
      inflateReset(&stream_);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      fail("{}: gzip data is damaged: {}", name(), stream_.msg != nullptr ? stream_.msg : "unknown reason");
    }
    return room - stream_.avail_out;
  }

  std::unique_ptr<Input> input_;
  z_stream stream_{};
  bool between_members_ = false;
  uint64_t total_ = 0;
};

class ZstdSource : public Source {
 public:
  ZstdSource(std::string name, std::unique_ptr<Input> input)
      : Source(std::move(name)), input_(std::move(input)), stream_(ZSTD_createDStream()) {
    constexpr int kLargestWindowLog = 27;
    HS_CHECK(stream_ != nullptr);
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kLargestWindowLog);
  }
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }

  size_t read(std::span<std::byte> to) override {
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    while (out.pos < out.size) {
      const auto from = input_->available();
      ZSTD_inBuffer in{from.data(), from.size(), 0};
      const size_t before = out.pos;
      const size_t result = ZSTD_decompressStream(stream_, &out, &in);
      if (ZSTD_isError(result) != 0) fail("{}: zstd data is damaged: {}", name(), ZSTD_getErrorName(result));
      input_->consume(in.pos);
      if (from.empty() && out.pos == before) {
        if (inside_frame_) fail("{}: zstd data ends early, after {} bytes of contents", name(), total_ + out.pos);
        break;
      }
      inside_frame_ = result != 0;
    }
    total_ += out.pos;
    return out.pos;
  }

 private:
  std::unique_ptr<Input> input_;
  ZSTD_DStream* stream_;
  bool inside_frame_ = true;
  uint64_t total_ = 0;
};

bool starts_with(std::span<const std::byte> bytes, std::initializer_list<int> magic) {
  return bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin(), [](int m, std::byte b) { return std::byte(m) == b; });
}

}  // namespace

std::unique_ptr<Source> decompressed(std::unique_ptr<Source> inner) {
  std::string name = inner->name();
  std::array<std::byte, 4> start;
  const auto magic = std::span<const std::byte>(start).first(inner->read(start));
  auto input = std::make_unique<Input>(std::move(inner), magic);
  if (starts_with(magic, {0x1f, 0x8b})) return std::make_unique<GzipSource>(std::move(name), std::move(input));
  if (starts_with(magic, {0x28, 0xb5, 0x2f, 0xfd}))
    return std::make_unique<ZstdSource>(std::move(name), std::move(input));
  return std::make_unique<PlainSource>(std::move(name), std::move(input));
}

}  // namespace halfstep::io
