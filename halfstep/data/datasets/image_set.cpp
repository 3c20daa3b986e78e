#include "halfstep/data/datasets/image_set.h"

#include <algorithm>
#include <limits>

#include "halfstep/core/files/errors.h"
#include "halfstep/data/datasets/errors.h"

namespace halfstep::data {
namespace {

constexpr size_t kWhole = std::numeric_limits<size_t>::max();

/// The header of an image. Usually the start of its file is enough.
ImageHeader header_in(const ImageTree& files, const std::string& path, const std::string& name) {
  constexpr size_t kStart = size_t{1} << 16;
  if (const auto kind = other_image_kind(path); !kind.empty()) fail(errors::image_form_unknown(name, kind));
  const auto start = files.contents(path, kStart);
  try {
    return image_header(start, name);
  } catch (const Error&) {
    if (start.size() < kStart) throw;
  }
  return image_header(files.contents(path, kWhole), name);
}

/// The first diagnostic of the Error that `work` throws for this image, if any.
template <class Work>
std::optional<Diagnostic> fault_of(const std::string& name, Work work) {
  try {
    work();
    return std::nullopt;
  } catch (const Error& error) {
    return error.diagnostics().front();
  } catch (const std::exception& error) {
    return errors::cannot_be_read(name, error.what());
  }
}

}  // namespace

ImageSet::ImageSet(std::shared_ptr<const ImageTree> files, const std::vector<std::string>& paths, std::string where,
                   bool skip_bad, Pixels pixels)
    : files_(std::move(files)), content_(pixels), where_(std::move(where)) {
  scan(paths, skip_bad);
  if (content_ == Pixels::classes) return;
  for (const ImageHeader& header : headers_) channels_ = std::max(channels_, header.channels);
}

void ImageSet::scan(const std::vector<std::string>& paths, bool skip_bad) {
  std::vector<ImageHeader> headers(paths.size());
  std::vector<std::optional<Diagnostic>> faults(paths.size());
  pool_.parallel_for(static_cast<int64_t>(paths.size()), [&](int64_t index) {
    const auto i = static_cast<size_t>(index);
    const std::string name = where_ + ": " + paths[i];
    faults[i] = fault_of(name, [&] {
      headers[i] = header_in(*files_, paths[i], name);
      if (skip_bad) decode_image(files_->contents(paths[i], kWhole), name);
    });
  });
  if (!skip_bad) require_readable(faults);
  for (size_t i = 0; i < paths.size(); ++i) {
    if (faults[i]) {
      skipped_.push_back(faults[i]->message());
      continue;
    }
    kept_.push_back(static_cast<int64_t>(i));
    paths_.push_back(paths[i]);
    headers_.push_back(headers[i]);
  }
  if (paths_.empty()) fail_on_any({errors::no_image_readable(where_, paths.size()), *faults.front()});
}

/// Throws with the number of bad images, and the reasons of the first ones.
void ImageSet::require_readable(std::span<const std::optional<Diagnostic>> faults) const {
  constexpr int64_t kShown = 4;
  std::vector<Diagnostic> shown;
  int64_t count = 0;
  for (const auto& fault : faults) {
    if (fault && ++count <= kShown) shown.push_back(*fault);
  }
  if (count == 0) return;
  shown.insert(shown.begin(), errors::images_unreadable(where_, count, faults.size()));
  fail_on_any(std::move(shown));
}

PictureSize ImageSet::size_of(int64_t index, const Frame& frame) const {
  const ImageHeader& header = headers_[static_cast<size_t>(index)];
  return frame.of(frame.ignores_orientation ? header.size : header.upright_size());
}

Dims ImageSet::sample_dims(const Frame& frame) const {
  const PictureSize first = size_of(0, frame);
  Dims dims = {frame.channels > 0 ? frame.channels : channels_, first.height, first.width};
  for (int64_t i = 1; i < size(); ++i) {
    const PictureSize found = size_of(i, frame);
    if (found.height != first.height) dims[1] = kUnknown;
    if (found.width != first.width) dims[2] = kUnknown;
  }
  return dims;
}

std::vector<std::byte> ImageSet::file(int64_t index) const { return files_->contents(path(index), kWhole); }

Tensor ImageSet::picture(int64_t index, const Frame& frame) const {
  if (content_ == Pixels::classes) return frame.apply(decode_classes(file(index), where_ + ": " + path(index)), 0);
  Tensor image = decode_image(file(index), where_ + ": " + path(index));
  if (!frame.ignores_orientation) image = upright(image, headers_[static_cast<size_t>(index)].orientation);
  return frame.apply(with_channels(image, frame.channels > 0 ? frame.channels : channels_), 0);
}

/// Writes its planes one after the other.
void ImageSet::read_into(int64_t index, const Frame& frame, const PictureSize& size, uint8_t* to) const {
  const Tensor image = picture(index, frame);
  const int64_t pixels = size.height * size.width, channels = image.dims()[2];
  if (image.dims()[0] != size.height || image.dims()[1] != size.width)
    fail(errors::image_sizes_differ(where_, path(index), PictureSize{image.dims()[0], image.dims()[1]}.text(),
                                    size.text()));
  const uint8_t* from = image.data<uint8_t>().data();
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < pixels; ++i) *to++ = from[i * channels + c];
  }
}

Tensor ImageSet::decoded(std::span<const int64_t> indices, const Frame& frame) const {
  const PictureSize size = size_of(indices.empty() ? 0 : indices.front(), frame);
  const Dims sample = {frame.channels > 0 ? frame.channels : channels_, size.height, size.width};
  if (frame_ != frame) start_keeping(frame, sample);
  const auto each = static_cast<size_t>(count_elements(sample));
  Tensor result =
      Tensor::uninitialized(DType::u8, {static_cast<int64_t>(indices.size()), sample[0], sample[1], sample[2]});
  uint8_t* to = result.data<uint8_t>().data();
  uint8_t* kept = pixels_.defined() ? pixels_.data<uint8_t>().data() : nullptr;
  const auto is_kept = [&](int64_t index) { return kept != nullptr && has_[static_cast<size_t>(index)]; };
  std::vector<std::optional<Diagnostic>> faults(indices.size());
  pool_.parallel_for(static_cast<int64_t>(indices.size()), [&](int64_t at) {
    const auto i = static_cast<size_t>(at);
    if (is_kept(indices[i])) {
      std::copy_n(kept + static_cast<size_t>(indices[i]) * each, each, to + i * each);
    } else {
      faults[i] =
          fault_of(where_ + ": " + path(indices[i]), [&] { read_into(indices[i], frame, size, to + i * each); });
    }
  });
  for (const auto& fault : faults) {
    if (fault) fail(*fault);
  }
  for (size_t i = 0; kept != nullptr && i < indices.size(); ++i) {
    if (is_kept(indices[i])) continue;
    std::copy_n(to + i * each, each, kept + static_cast<size_t>(indices[i]) * each);
    has_[static_cast<size_t>(indices[i])] = true;
  }
  return result;
}

void ImageSet::start_keeping(const Frame& frame, const Dims& sample) const {
  frame_ = frame;
  pixels_ = Tensor();
  has_.assign(static_cast<size_t>(size()), false);
  if (count_elements(sample) <= kMostKept / size())
    pixels_ = Tensor::uninitialized(DType::u8, {size(), sample[0], sample[1], sample[2]});
}

Tensor ImageSet::batch(std::span<const int64_t> indices, const Frame& frame) const {
  const std::scoped_lock lock(busy_);
  if (ahead_.valid()) {
    ahead_.wait();
    if (next_frame_ == frame && std::ranges::equal(next_, indices)) return ahead_.get();
    ahead_ = {};
  }
  return decoded(indices, frame);
}

void ImageSet::read_ahead(std::vector<int64_t> indices, const Frame& frame) const {
  const std::scoped_lock lock(busy_);
  if (ahead_.valid()) ahead_.wait();
  next_ = std::move(indices);
  next_frame_ = frame;
  ahead_ = std::async(std::launch::async, [this] { return decoded(next_, next_frame_); });
}

}  // namespace halfstep::data
