#include "halfstep/io/dataset.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "halfstep/io/file.h"
#include "halfstep/io/idx_dataset.h"
#include "halfstep/io/image_tree.h"
#include "halfstep/io/npz.h"
#include "halfstep/io/safetensors.h"

namespace halfstep::io {
namespace {

using Path = std::filesystem::path;
using Open = std::function<std::unique_ptr<SeekableSource>()>;

bool has_ending(const std::string& name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
}

/// "data/digits.csv" for "data/digits.csv.gz".
std::string without_compression(const std::string& name) {
  return has_ending(name, {".gz", ".zst", ".xz", ".bz2"}) ? name.substr(0, name.rfind('.')) : name;
}

/// "optdigits" for "data/optdigits.csv.gz".
std::string stem(const Path& path) {
  const std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  return name.substr(0, name.find('.', 1));
}

Dataset from_csv(Source& source, int64_t classes) {
  LabelledData data = read_csv(source, classes);
  const int64_t columns = data.x.dims()[1];
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(columns))));
  if (side * side == columns) data.x = data.x.reshaped({data.x.dims()[0], 1, side, side});
  return {.x = data.x, .labels = data.labels, .classes = number_names(data.labels, classes)};
}

Tensor to_labels(const Tensor& raw, int64_t classes, const std::string& where) {
  if ((raw.dtype() != DType::i32 && raw.dtype() != DType::i64 && raw.dtype() != DType::u8) || raw.dims().size() != 1)
    fail("{}: labels: found {}, expected i32[n], i64[n] or u8[n]", where, to_string(raw.type()));
  Tensor labels(DType::i32, raw.dims());
  for (size_t i = 0; i < static_cast<size_t>(raw.size()); ++i) {
    const int64_t label = raw.dtype() == DType::i32   ? raw.data<int32_t>()[i]
                          : raw.dtype() == DType::i64 ? raw.data<int64_t>()[i]
                                                      : raw.data<uint8_t>()[i];
    if (label < 0 || label >= classes) fail("{}: label {} is {}, expected 0 to {}", where, i, label, classes - 1);
    labels.data<int32_t>()[i] = static_cast<int32_t>(label);
  }
  return labels;
}

void require_finite(const Tensor& tensor, const std::string& name, const std::string& where) {
  if (tensor.dtype() != DType::f32) return;
  const auto values = tensor.data<float>();
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
    fail("{}: {}: found a value that is not finite", where, name);
}

/// Throws where the first axes, which count samples, differ.
void require_equal_counts(const Dataset& data, const std::string& where) {
  if (data.size() == 0) fail("{}: found no sample", where);
  for (const auto& [name, tensor] : data.inputs) {
    if (tensor.dims()[0] != data.size())
      fail("{}: found {} samples of '{}' and {} of '{}'", where, tensor.dims()[0], name, data.size(),
           data.inputs.begin()->first);
  }
  if (data.has_labels() && data.labels.size() != data.size())
    fail("{}: found {} labels for {} samples", where, data.labels.size(), data.size());
}

}  // namespace

Dataset dataset_of(const std::map<std::string, Tensor>& tensors, const std::string& where, int64_t classes) {
  Dataset data;
  if (const auto labels = tensors.find("labels"); labels != tensors.end()) {
    data.labels = to_labels(labels->second, classes, where);
    data.classes = number_names(data.labels, classes);
  }
  for (const auto& [name, tensor] : tensors) {
    if (name == "labels") continue;
    if (tensor.dims().empty())
      fail("{}: {}: found {}, expected samples along a first axis", where, name, to_string(tensor.type()));
    require_finite(tensor, name, where);
    data.inputs[name] = tensor;
  }
  if (data.inputs.empty())
    fail("{}: found no tensor of samples, expected 'x' and 'labels' or the inputs of a network", where);
  require_equal_counts(data, where);
  const Tensor& first = data.inputs.begin()->second;
  if (!data.has_labels() || data.inputs.size() > 1 || !data.inputs.contains("x")) return data;
  if ((first.dtype() != DType::f32 && first.dtype() != DType::u8) || first.dims().size() < 2)
    fail("{}: x: found {}, expected f32 or u8 with two dims or more", where, to_string(first.type()));
  data.x = first;
  data.raw = first.dtype() == DType::u8;
  data.inputs.clear();
  return data;
}

namespace {

Dataset from_folder(const Path& path, int64_t classes) {
  if (const auto images = find_idx_images(path, "train")) return load_idx_folder(*images, classes);
  return load_images(FolderTree(path), path.string(), classes);
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

Dataset from_single_file(const Open& open, const std::string& name, int64_t classes) {
  const std::string unpacked = without_compression(name);
  if (unpacked.ends_with(".csv")) return from_csv(*decompressed(open()), classes);
  if (has_ending(unpacked, {".tar", ".tgz"})) return load_images(ArchiveTree(open, ArchiveForm::tar), name, classes);
  if (name.ends_with(".zip")) return load_images(ArchiveTree(open, ArchiveForm::zip), name, classes);
  if (name.ends_with(".safetensors")) return dataset_of(parse_safetensors(read_all(open), name).tensors, name, classes);
  if (name.ends_with(".npz")) return dataset_of(read_npz(open()), name, classes);
  unsupported(
      "{}: not a known form of data set: expected .csv or .tar, as it is or with .gz, .zst, .xz or .bz2, .zip, an IDX "
      "images file, .safetensors, .npz or a folder of images",
      name);
}

}  // namespace

Tensor Dataset::batch(std::span<const int64_t> indices) const {
  if (x.dtype() == DType::f32) return rows_of(x, indices);
  Dims dims = x.dims();
  dims[0] = static_cast<int64_t>(indices.size());
  Tensor out(DType::f32, dims);
  const auto each = static_cast<size_t>(size() == 0 ? 0 : x.size() / size());
  float* to = out.data<float>().data();
  for (const int64_t index : indices) {
    HS_CHECK(0 <= index && index < size());
    const size_t from = static_cast<size_t>(index) * each;
    to = std::copy_n(x.data<uint8_t>().data() + from, each, to);
  }
  return out;
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

Tensor Dataset::batch_labels(std::span<const int64_t> indices) const {
  Tensor out(DType::i32, {static_cast<int64_t>(indices.size())});
  const auto to = out.data<int32_t>();
  for (size_t i = 0; i < indices.size(); ++i) {
    HS_CHECK(0 <= indices[i] && indices[i] < size());
    to[i] = labels.data<int32_t>()[static_cast<size_t>(indices[i])];
  }
  return out;
}

Dataset load_dataset(const std::filesystem::path& path, int64_t classes) {
  std::error_code reason;
  if (!std::filesystem::exists(path, reason))
    fail("{}: {}", path.string(), reason ? system_reason(reason.value()) : "no such file or folder");
  Dataset dataset;
  if (std::filesystem::is_directory(path)) {
    dataset = from_folder(path, classes);
  } else if (path.filename().string().find("idx3") != std::string::npos) {
    dataset = load_idx_file(path, classes);
  } else {
    dataset = from_single_file([&] { return file_source(path); }, path.string(), classes);
  }
  dataset.name = stem(path);
  return dataset;
}

Dataset load_dataset(std::span<const std::byte> bytes, const std::string& name, int64_t classes) {
  Dataset dataset = from_single_file([&] { return memory_source(bytes, name); }, name, classes);
  dataset.name = stem(name);
  return dataset;
}

}  // namespace halfstep::io
