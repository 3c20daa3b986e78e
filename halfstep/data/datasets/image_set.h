// The pictures of a data set, decoded on request.
#pragma once

#include <future>
#include <mutex>
#include <optional>
#include <span>

#include "halfstep/core/base/diagnostics/diagnostic.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/datasets/image.h"
#include "halfstep/data/datasets/image_tree.h"

namespace halfstep::data {

/// Contents of pictures: colours, or the number of a class for each pixel (decode_classes).
enum class Pixels { colours, classes };

/// Memory is bounded: pixels are kept only if all of them fit into kMostKept. Otherwise each request decodes them
/// again. A thread of its own decodes the next request ahead.
class ImageSet {
 public:
  static constexpr int64_t kMostKept = int64_t{192} << 20;  ///< bytes

  /// Reads the headers of `paths` in `files`. If some cannot be read, throws one Error for all of them that starts with
  /// `where`. With skip_bad, leaves them out instead. To find them, it decodes every picture.
  ImageSet(std::shared_ptr<const ImageTree> files, const std::vector<std::string>& paths, std::string where,
           bool skip_bad, Pixels pixels = Pixels::colours);

  int64_t size() const { return static_cast<int64_t>(paths_.size()); }
  /// Numbers of the paths that were kept, ascending.
  const std::vector<int64_t>& kept() const { return kept_; }
  /// Errors of the pictures that were left out, such as "PATH: damaged PNG image: ...".
  const std::vector<std::string>& skipped() const { return skipped_; }
  const std::string& path(int64_t index) const { return paths_[static_cast<size_t>(index)]; }
  /// Size of the picture under `frame`, rotated upright unless the frame ignores orientation.
  PictureSize size_of(int64_t index, const Frame& frame) const;

  /// [c, h, w] of every sample. Heights or widths that differ are kUnknown.
  Dims sample_dims(const Frame& frame) const;
  /// u8 [h, w, c] of one picture. The number of channels is that of `frame` or of the set (colour if any picture has
  /// colour). Thread-safe.
  Tensor picture(int64_t index, const Frame& frame) const;
  /// u8 [n, c, h, w] of these pictures. Throws if their sizes differ or one is damaged.
  Tensor batch(std::span<const int64_t> indices, const Frame& frame) const;
  /// Announces the indices of the next `batch`, so that they can be decoded ahead.
  void read_ahead(std::vector<int64_t> indices, const Frame& frame) const;
  /// The undecoded file of a picture.
  std::vector<std::byte> file(int64_t index) const;

 private:
  void scan(const std::vector<std::string>& paths, bool skip_bad);
  void require_readable(std::span<const std::optional<Diagnostic>> faults) const;
  Tensor decoded(std::span<const int64_t> indices, const Frame& frame) const;
  void read_into(int64_t index, const Frame& frame, const PictureSize& size, uint8_t* to) const;
  void start_keeping(const Frame& frame, const Dims& sample) const;

  std::shared_ptr<const ImageTree> files_;
  Pixels content_;
  std::string where_;
  std::vector<std::string> paths_, skipped_;
  std::vector<int64_t> kept_;
  std::vector<ImageHeader> headers_;
  int64_t channels_ = 1;
  mutable ThreadPool pool_{0};
  mutable std::mutex busy_;             ///< protects the members below
  mutable std::optional<Frame> frame_;  ///< frame of pixels_
  mutable Tensor pixels_;               ///< u8 [size, c, h, w], undefined if they need too much memory
  mutable std::vector<bool> has_;       ///< decoded pictures in pixels_
  mutable std::vector<int64_t> next_;
  mutable Frame next_frame_;
  mutable std::future<Tensor> ahead_;  ///< future of next_. The last member, so that its thread ends before the data it
                                       ///< uses is destroyed
};

}  // namespace halfstep::data
