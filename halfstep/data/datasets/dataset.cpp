#include "halfstep/data/datasets/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "halfstep/core/base/embedded.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/npy.h"
#include "halfstep/core/files/npz.h"
#include "halfstep/core/files/safetensors.h"
#include "halfstep/data/datasets/errors.h"
#include "halfstep/data/datasets/idx_dataset.h"
#include "halfstep/data/datasets/image_layout.h"
#include "halfstep/data/datasets/image_list.h"
#include "halfstep/data/datasets/image_set.h"
#include "halfstep/data/datasets/masks.h"
#include "halfstep/data/datasets/split.h"

namespace halfstep::data {
namespace {

using Path = std::filesystem::path;
using Open = std::function<std::unique_ptr<io::SeekableSource>()>;

bool has_ending(const std::string& name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
}

/// Example: "data/digits.csv" for "data/digits.csv.gz".
std::string without_compression(const std::string& name) {
  return has_ending(name, {".gz", ".zst", ".xz", ".bz2"}) ? name.substr(0, name.rfind('.')) : name;
}

/// Example: "optdigits" for "data/optdigits.csv.gz".
std::string last_name(const Path& path) {
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

/// Options for reading a path.
struct Reading {
  std::string where;  ///< starts the messages
  int64_t classes;
  const DataOptions& options;
};

Dataset from_csv(io::Source& source, const Reading& reading) {
  LabelledData data = read_csv(source, reading.classes, reading.options.label);
  const int64_t columns = data.x.dims()[1];
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(columns))));
  if (side * side == columns) data.x = data.x.reshaped({data.x.dims()[0], 1, side, side});
  return {.form = "csv", .x = data.x, .labels = data.labels, .classes = std::move(data.classes)};
}

void require_equal_sizes(const ImageSet& images, const ImageSet& masks, const std::string& where) {
  for (int64_t i = 0; i < images.size(); ++i) {
    const PictureSize found = masks.size_of(i, {}), expected = images.size_of(i, {});
    if (found != expected)
      fail(errors::mask_size_differs(where, masks.path(i), found.text(), expected.text() + " pixels"));
  }
}

/// Pictures with masks. Folders are parts, and never classes.
Dataset from_masks(std::shared_ptr<const ImageTree> tree, const PairedPaths& pairs, const std::string& form,
                   const Reading& reading) {
  Dataset data{.form = form + " with masks"};
  data.images = std::make_shared<const ImageSet>(tree, pairs.images, reading.where, reading.options.skip_bad);
  std::vector<std::string> kept;
  for (const int64_t image : data.images->kept()) kept.push_back(pairs.masks[static_cast<size_t>(image)]);
  data.masks = std::make_shared<const ImageSet>(std::move(tree), kept, reading.where, false, Pixels::classes);
  require_equal_sizes(*data.images, *data.masks, reading.where);
  describe(parts_only(pairs.images), data.images->kept(), data);
  return data;
}

Dataset from_images(std::unique_ptr<const ImageTree> tree, const std::string& form, const Reading& reading) {
  const auto paths = tree->paths();
  if (paths.empty())
    fail(errors::no_samples(reading.where, "NAME.png or NAME.jpg, in one folder for each class if there are classes"));
  if (const auto pairs = pairs_of(paths, reading.where)) return from_masks(std::move(tree), *pairs, form, reading);
  const ImageLayout layout = layout_of(paths, reading.where, reading.classes);
  Dataset data{.form = form};
  const auto images = std::make_shared<const ImageSet>(std::move(tree), paths, reading.where, reading.options.skip_bad);
  describe(layout, images->kept(), data);
  data.images = images;
  return data;
}

/// The images listed in a text file beside them.
Dataset from_list(const Path& path, io::Source& source, const Reading& reading) {
  ImageList list = read_image_list(source, reading.classes, reading.options.label);
  const auto images = std::make_shared<const ImageSet>(std::make_unique<FolderTree>(path.parent_path()), list.paths,
                                                       reading.where, reading.options.skip_bad);
  Dataset data{.form = "list of images", .images = images, .classes = std::move(list.classes)};
  if (!list.labels.defined()) return data;
  data.labels = Tensor(DType::i32, {images->size()});
  for (size_t i = 0; i < images->kept().size(); ++i)
    data.labels.data<int32_t>()[i] = list.labels.data<int32_t>()[static_cast<size_t>(images->kept()[i])];
  return data;
}

Dataset from_folder(const Path& path, const Reading& reading) {
  if (const auto images = find_idx_images(path, "train")) return load_idx_folder(*images, reading.classes);
  return from_images(std::make_unique<FolderTree>(path), "image folder", reading);
}

std::vector<std::byte> read_all(const Open& open) {
  const auto source = open();
  std::vector<std::byte> bytes;
  constexpr size_t kChunk = size_t{1} << 20;
  for (size_t got = kChunk; got == kChunk;) {
    const size_t end = bytes.size();
    bytes.resize(end + kChunk);
    got = source->read(std::span(bytes).subspan(end));
    bytes.resize(end + got);
  }
  return bytes;
}

Dataset from_single_file(const Open& open, const std::string& name, const Reading& reading);

/// The images of an archive, or the data set in the only file that it holds.
Dataset from_archive(const Open& open, io::ArchiveForm form, const Reading& reading) {
  auto tree = std::make_unique<ArchiveTree>(open(), form);
  if (!tree->paths().empty() || tree->others().size() != 1)
    return from_images(std::move(tree), "image archive", reading);
  io::ArchiveReader reader(open(), form);
  while (const auto path = reader.next()) {
    if (!path->ends_with(tree->others().front())) continue;
    const auto bytes = reader.contents();
    return from_single_file([&] { return io::memory_source(bytes, reading.where + ": " + *path); }, *path, reading);
  }
  fail(errors::cannot_be_read(fmt::format("{}: '{}'", reading.where, tree->others().front()), "is gone"));
}

Dataset named(Dataset data, const std::string& form) {
  data.form = form;
  return data;
}

Dataset from_single_file(const Open& open, const std::string& name, const Reading& reading) {
  const std::string unpacked = without_compression(name);
  if (unpacked.ends_with(".csv")) return from_csv(*io::decompressed(open()), reading);
  if (has_ending(unpacked, {".tar", ".tgz"})) return from_archive(open, io::ArchiveForm::tar, reading);
  if (name.ends_with(".zip")) return from_archive(open, io::ArchiveForm::zip, reading);
  if (name.ends_with(".safetensors"))
    return named(dataset_of(io::parse_safetensors(read_all(open), name).tensors, name, reading.classes), "safetensors");
  if (name.ends_with(".npz")) return named(dataset_of(io::read_npz(open()), name, reading.classes), "npz");
  if (name.ends_with(".npy"))
    return named(dataset_of({{"x", io::parse_npy(read_all(open), name)}}, name, reading.classes), "npy");
  fail(errors::data_set_form_unknown(name));
}

/// Whether a file of this name lists images.
bool is_list(const Path& path) {
  if (!has_ending(without_compression(path.string()), {".csv", ".txt"})) return false;
  return is_image_list(*io::decompressed(io::file_source(path)));
}

Dataset from_path(const Path& path, const Reading& reading) {
  if (std::filesystem::is_directory(path)) return from_folder(path, reading);
  if (path.filename().string().find("idx3") != std::string::npos) return load_idx_file(path, reading.classes);
  if (is_list(path)) return from_list(path, *io::decompressed(io::file_source(path)), reading);
  return from_single_file([&] { return io::file_source(path); }, path.string(), reading);
}

Dataset finished(Dataset data, const std::string& name, const DataOptions& options) {
  data.name = last_name(name);
  choose(data, options);
  return data;
}

Tensor to_f32(const Tensor& pixels) {
  Tensor result = Tensor::uninitialized(DType::f32, pixels.dims());
  std::ranges::copy(pixels.data<uint8_t>(), result.data<float>().begin());
  return result;
}

}  // namespace

int64_t Dataset::size() const {
  if (images) return images->size();
  return (x.defined() ? x : inputs.begin()->second).dims()[0];
}

int64_t Dataset::labels_each() const { return has_labels() ? count_elements(std::span(labels.dims()).subspan(1)) : 0; }

Dims Dataset::sample_dims(const Frame& frame) const {
  if (images) return images->sample_dims(frame);
  Dims dims(x.dims().begin() + 1, x.dims().end());
  if (!frame.cuts() || dims.size() != 3) return dims;
  const PictureSize size = frame.of({dims[1], dims[2]});
  return {dims[0], size.height, size.width};
}

Tensor Dataset::batch(std::span<const int64_t> indices, const Frame& frame) const {
  for (const int64_t index : indices) HS_CHECK(0 <= index && index < size());
  if (images) return to_f32(images->batch(indices, frame));
  Tensor rows = rows_of(x, indices);
  if (frame.cuts() && rows.dims().size() == 4) rows = frame.apply(rows, 2);
  return rows.dtype() == DType::f32 ? rows : to_f32(rows);
}

const std::vector<std::string>& Dataset::skipped() const {
  static const std::vector<std::string> kNone;
  return images ? images->skipped() : kNone;
}

Tensor rows_of(const Tensor& tensor, std::span<const int64_t> indices) {
  Dims dims = tensor.dims();
  const int64_t rows = dims[0];
  dims[0] = static_cast<int64_t>(indices.size());
  Tensor out(tensor.dtype(), dims);
  const size_t each = rows == 0 ? 0 : tensor.bytes() / static_cast<size_t>(rows);
  std::byte* to = out.raw();
  for (const int64_t index : indices) {
    HS_CHECK(0 <= index && index < rows);
    to = std::copy_n(tensor.raw() + static_cast<size_t>(index) * each, each, to);
  }
  return out;
}

Tensor joined(const Tensor& a, const Tensor& b) {
  Dims dims = a.dims();
  dims[0] += b.dims()[0];
  Tensor both = Tensor::uninitialized(a.dtype(), dims);
  std::copy_n(b.raw(), b.bytes(), std::copy_n(a.raw(), a.bytes(), both.raw()));
  return both;
}

Tensor Dataset::batch_labels(std::span<const int64_t> indices) const {
  const Tensor rows = rows_of(labels, indices);
  return rows.reshaped({rows.size()});
}

Dataset load_dataset(const std::filesystem::path& path, int64_t classes, const DataOptions& options) {
  std::error_code reason;
  if (!std::filesystem::exists(path, reason))
    fail(errors::cannot_be_read(path.string(), reason ? io::system_reason(reason.value()) : "no such file or folder"));
  return finished(from_path(path, {path.string(), classes, options}), path, options);
}

Dataset load_dataset(std::span<const std::byte> bytes, const std::string& name, int64_t classes,
                     const DataOptions& options) {
  const Reading reading{name, classes, options};
  return finished(from_single_file([&] { return io::memory_source(bytes, name); }, name, reading), name, options);
}

Dataset digits(int64_t classes, const DataOptions& options) {
  Dataset digits = load_dataset(embedded("models/optdigits.csv.gz"), "optdigits.csv.gz", classes, options);
  digits.name = "the embedded digits";
  return digits;
}

}  // namespace halfstep::data
