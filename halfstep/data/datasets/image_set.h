// The pictures of a data set, decoded when they are asked for.
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

/// Memory is bounded: pixels are kept where all of them take no more than kMostKept, and decoded anew each time where
/// they take more. What is asked for next is decoded ahead, by threads of its own.
class ImageSet {
 public:
  static constexpr int64_t kMostKept = int64_t{192} << 20;  ///< bytes

  /// `paths` of `files`, whose headers are read. Those that cannot be read are named together, `where` first, or left
  /// out with skip_bad, which decodes every picture to find them.
  ImageSet(std::unique_ptr<const ImageTree> files, const std::vector<std::string>& paths, std::string where,
           bool skip_bad);

  int64_t size() const { return static_cast<int64_t>(paths_.size()); }
  /// Numbers of the paths that were not left out, ascending.
  const std::vector<int64_t>& kept() const { return kept_; }
  /// What is wrong with those that were left out: "PATH: damaged PNG image: ...".
  const std::vector<std::string>& skipped() const { return skipped_; }
  const std::string& path(int64_t index) const { return paths_[static_cast<size_t>(index)]; }
  /// As it comes out of the file under `frame`, turned upright unless that says otherwise.
  PictureSize size_of(int64_t index, const Frame& frame) const;

  /// [c, h, w] of a sample, the same for all; kUnknown where heights or widths differ.
  Dims sample_dims(const Frame& frame) const;
  /// u8 [h, w, c] of one, with the channels that the set has (colour where any picture has) or `frame` says. From any
  /// thread.
  Tensor picture(int64_t index, const Frame& frame) const;
  /// u8 [n, c, h, w] of those; throws where they differ in size or one is damaged.
  Tensor batch(std::span<const int64_t> indices, const Frame& frame) const;
  /// Says what `batch` will be asked for next.
  void read_ahead(std::vector<int64_t> indices, const Frame& frame) const;
  /// The file of a picture.
  std::vector<std::byte> file(int64_t index) const;

 private:
  void scan(const std::vector<std::string>& paths, bool skip_bad);
  void require_readable(std::span<const std::optional<Diagnostic>> faults) const;
  Tensor decoded(std::span<const int64_t> indices, const Frame& frame) const;
  void read_into(int64_t index, const Frame& frame, const PictureSize& size, uint8_t* to) const;
  void start_keeping(const Frame& frame, const Dims& sample) const;

  std::unique_ptr<const ImageTree> files_;
  std::string where_;
  std::vector<std::string> paths_, skipped_;
  std::vector<int64_t> kept_;
  std::vector<ImageHeader> headers_;
  int64_t channels_ = 1;
  mutable ThreadPool pool_{0};
  mutable std::mutex busy_;             ///< of what follows
  mutable std::optional<Frame> frame_;  ///< of pixels_
  mutable Tensor pixels_;               ///< u8 [size, c, h, w]; undefined where they would take too much
  mutable std::vector<bool> has_;       ///< which of them are there
  mutable std::vector<int64_t> next_;
  mutable Frame next_frame_;
  mutable std::future<Tensor> ahead_;  ///< of next_; last, so that its thread ends before what it works on
};

}  // namespace halfstep::data
