#include "halfstep/data/datasets/dataset.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <limits>
#include <numeric>

#include "halfstep/core/base/embedded.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/npz.h"
#include "halfstep/core/files/safetensors.h"
#include "halfstep/core/files/zip.h"
#include "halfstep/data/datasets/errors.h"
#include "halfstep/data/datasets/idx_dataset.h"
#include "halfstep/data/datasets/split.h"
#include "tests/files/tar.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::data {
namespace {

using test::Bytes;
using test::diagnostic_of;
using test::joined;
using test::tar_end;
using test::tar_entry;

Bytes image(const std::string& name) { return io::read_file(HALFSTEP_SOURCE_DIR "/tests/data/samples/" + name); }

void put(const std::filesystem::path& path, const Bytes& bytes) {
  std::filesystem::create_directories(path.parent_path());
  io::write_file(path, bytes);
}

/// The integers from `begin`, `count` of them.
std::vector<int64_t> range(int64_t begin, int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

/// Pixels of all samples.
Tensor pixels_of(const Dataset& dataset) { return dataset.batch(range(0, dataset.size())); }

std::vector<int32_t> labels_of(const Dataset& dataset) {
  const auto labels = dataset.labels.data<int32_t>();
  return {labels.begin(), labels.end()};
}

TEST(Dataset, EmbeddedDigits) {
  const Dataset digits = load_dataset(embedded("models/optdigits.csv.gz"), "optdigits.csv.gz", 10);
  EXPECT_EQ(digits.name, "optdigits.csv.gz");
  EXPECT_EQ(digits.x.type(), (Type{DType::f32, {1797, 1, 8, 8}}));
  EXPECT_EQ(digits.sample_dims(), (Dims{1, 8, 8}));
  EXPECT_EQ(digits.classes.size(), 10U);
  EXPECT_FALSE(digits.split.has_value());
  EXPECT_EQ(digits.labels.data<int32_t>()[3], 3);
  EXPECT_EQ(digits.x.data<float>()[2], 5.0F);
  const auto x = digits.x.data<float>();
  EXPECT_EQ(*std::max_element(x.begin(), x.end()), 16.0F);
}

TEST(Dataset, CsvThatIsNoSquareStaysFlat) {
  const Bytes text = test::to_bytes("1,2,3,0\n4,5,6,2\n");
  const Dataset data = load_dataset(text, "d.csv");
  EXPECT_EQ(data.x.dims(), (Dims{2, 3}));
  EXPECT_EQ(data.classes, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(diagnostic_of([&] { load_dataset(text, "d.csv", 2); }),
            errors::csv_label("d.csv: line 2, column 4", "'2'", 1));
}

TEST(Dataset, BatchesAreFloatInTheOrderAsked) {
  const Dataset data = load_dataset(test::to_bytes("1,2,3,0\n4,5,6,1\n"), "d.csv");
  const std::vector<int64_t> order = {1, 0, 1};
  EXPECT_EQ(data.batch(order).dims(), (Dims{3, 3}));
  EXPECT_EQ(data.batch(order).data<float>()[1], 5.0F);
  EXPECT_EQ(data.batch_labels(order).data<int32_t>()[1], 0);
  EXPECT_EQ(data.batch({}).dims(), (Dims{0, 3}));
  EXPECT_EQ(test::name_of([&] { data.batch(std::vector<int64_t>{2}); }), "defect");
}

TEST(Dataset, ImageFolder) {
  const test::TemporaryFolder folder;
  put(folder / "set/dog/b.png", image("rgb.png"));
  put(folder / "set/dog/a.png", image("rgba.png"));
  put(folder / "set/cat/z.PNG", image("palette.png"));
  put(folder / "set/cat/.hidden.png", Bytes(3));
  put(folder / "set/notes.txt", Bytes(3));
  const Dataset data = load_dataset(folder / "set/");
  EXPECT_EQ(data.name, "set");
  EXPECT_EQ(data.sample_dims(), (Dims{3, 3, 5}));
  EXPECT_EQ(data.classes, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(labels_of(data), (std::vector<int32_t>{0, 1, 1}));
  EXPECT_FALSE(data.split.has_value());
  const Tensor pixels = pixels_of(data);
  const auto x = pixels.data<float>();
  EXPECT_EQ(x[1], 10);       // channel 0, y 0, x 1
  EXPECT_EQ(x[5], 40);       // channel 0, y 1, x 0
  EXPECT_EQ(x[15 + 1], 13);  // channel 1, y 0, x 1
  EXPECT_EQ(data.batch(std::vector<int64_t>{2}).data<float>()[30 + 14], 40 * 2 + 10 * 4 + 3 * 2);
}

Bytes split_archive() {
  Bytes archive;
  for (const char* path :
       {"./root/train/b/2.png", "./root/test/a/1.png", "./root/train/a/1.png", "./root/train/b/1.png"})
    archive = joined(std::move(archive), tar_entry(path, image("grey.png")));
  return joined(std::move(archive), tar_end());
}

TEST(Dataset, EveryCompressionOfTextAndArchives) {
  const Bytes text = test::to_bytes("1,2,3,0\n4,5,6,1\n");
  const std::pair<const char*, int> endings[] = {{".gz", ARCHIVE_FILTER_GZIP},
                                                 {".zst", ARCHIVE_FILTER_ZSTD},
                                                 {".xz", ARCHIVE_FILTER_XZ},
                                                 {".bz2", ARCHIVE_FILTER_BZIP2}};
  for (const auto& [ending, filter] : endings) {
    EXPECT_EQ(load_dataset(test::packed(text, filter), std::string("d.csv") + ending).size(), 2);
    EXPECT_EQ(load_dataset(test::packed(split_archive(), filter), std::string("d.tar") + ending).size(), 4);
  }
  EXPECT_EQ(
      load_dataset(io::serialize_zip({{"d/a/1.png", image("grey.png")}, {"__MACOSX/a/._1.png", {}}}), "d.zip").size(),
      1);
}

TEST(Dataset, ArchiveWithTrainAndTest) {
  const Dataset data = load_dataset(test::packed(split_archive(), ARCHIVE_FILTER_ZSTD), "set.tar.zst");
  EXPECT_EQ(pixels_of(data).dims(), (Dims{4, 1, 3, 5}));
  EXPECT_EQ(labels_of(data), (std::vector<int32_t>{0, 0, 1, 1}));  // test/a, train/a, train/b, train/b
  ASSERT_TRUE(data.split.has_value());
  EXPECT_EQ(data.split->test, (std::vector<int64_t>{0}));
  EXPECT_EQ(data.split->train, (std::vector<int64_t>{1, 2, 3}));
}

TEST(Dataset, ImageOrderDoesNotDependOnTheSource) {
  const test::TemporaryFolder folder;
  for (const char* path : {"train/b/2.png", "test/a/1.png", "train/a/1.png", "train/b/1.png"})
    put(folder / "set" / path, image("grey.png"));
  const Dataset from_folder = load_dataset(folder / "set");
  const Dataset from_archive = load_dataset(split_archive(), "set.tar");
  EXPECT_TRUE(pixels_of(from_folder).same_bits(pixels_of(from_archive)));
  EXPECT_TRUE(from_folder.labels.same_bits(from_archive.labels));
  EXPECT_EQ(from_folder.split->train, from_archive.split->train);
}

TEST(Dataset, ImagesThatDoNotBelongTogether) {
  const auto error = [](std::initializer_list<std::pair<const char*, const char*>> files) {
    Bytes archive;
    for (const auto& [path, file] : files) archive = joined(std::move(archive), tar_entry(path, image(file)));
    return diagnostic_of([&] { load_dataset(joined(archive, tar_end()), "s.tar", 2); });
  };
  EXPECT_EQ(error({{"1.png", "grey.png"}, {"b/1.png", "grey.png"}}),
            errors::image_without_class("s.tar", "1.png", "b/1.png"));
  EXPECT_EQ(error({{"a/1.png", "grey.png"}, {"a/1.png", "grey.png"}}), errors::given_twice("s.tar: image 'a/1.png'"));
  EXPECT_EQ(error({{"train/a/1.png", "grey.png"}, {"b/1.png", "grey.png"}}),
            errors::image_layouts_differ("s.tar", "b/1.png", "train/a/1.png"));
  EXPECT_EQ(error({{"a/1.png", "grey.png"}, {"b/1.png", "grey.png"}, {"c/1.png", "grey.png"}}),
            errors::too_many_classes("s.tar", 3, 2));
  EXPECT_EQ(error({{"a/1.png", "deflated.npz"}}), errors::images_unreadable("s.tar", 1, 1));
  EXPECT_EQ(error({{"a/1.txt", "grey.png"}, {"a/2.txt", "grey.png"}}),
            errors::no_samples("s.tar", "NAME.png or NAME.jpg, in one folder for each class if there are classes"));
  EXPECT_EQ(error({{"train/a/1.png", "grey.png"}, {"test/b/1.png", "grey.png"}}),
            errors::class_without_training("s.tar", "test/b/1.png", "b"));
}

Bytes idx(std::initializer_list<uint8_t> dims, size_t data, uint8_t fill) {
  Bytes bytes = {std::byte{0}, std::byte{0}, std::byte{8}, static_cast<std::byte>(dims.size())};
  for (const uint8_t extent : dims)
    bytes.insert(bytes.end(), {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{extent}});
  bytes.resize(bytes.size() + data, std::byte{fill});
  return bytes;
}

TEST(Dataset, IdxFolderAndFile) {
  const test::TemporaryFolder folder;
  put(folder / "train-images-idx3-ubyte.gz", test::gzipped(idx({3, 2, 2}, 12, 5)));
  put(folder / "train-labels-idx1-ubyte.gz", test::gzipped(idx({3}, 3, 1)));
  EXPECT_EQ(load_dataset(folder.path()).x.dims(), (Dims{3, 1, 2, 2}));
  put(folder / "t10k-images-idx3-ubyte", idx({1, 2, 2}, 4, 7));
  const auto missing = (folder / "t10k-labels-idx1-ubyte").string();
  EXPECT_EQ(diagnostic_of([&] { load_dataset(folder.path()); }),
            errors::cannot_be_read(missing, "no such file or directory"));
  put(folder / "t10k-labels-idx1-ubyte", idx({1}, 1, 3));
  const Dataset both = load_dataset(folder.path());
  EXPECT_EQ(both.x.dims(), (Dims{4, 1, 2, 2}));
  EXPECT_EQ(labels_of(both), (std::vector<int32_t>{1, 1, 1, 3}));
  EXPECT_EQ(both.classes.size(), 4U);
  EXPECT_EQ(both.split->test, (std::vector<int64_t>{3}));
  EXPECT_EQ(both.x.data<uint8_t>()[12], 7);
  EXPECT_EQ(load_dataset(folder / "t10k-images-idx3-ubyte").size(), 1);
}

TEST(Dataset, NamedTensors) {
  const test::TemporaryFolder folder;
  const Tensor x = Tensor::of<float>(DType::f32, {2, 2}, std::array<float, 4>{1, 2, 3, 4});
  const Tensor labels = Tensor::of<int64_t>(DType::i64, {2}, std::array<int64_t, 2>{1, 0});
  io::write_npz(folder / "d.npz", {{"x", x}, {"labels", labels}});
  io::write_safetensors(folder / "d.safetensors", {{{"x", x}, {"labels", labels}}, {}});
  for (const char* name : {"d.npz", "d.safetensors"}) {
    const Dataset data = load_dataset(folder / name);
    EXPECT_TRUE(data.x.same_bits(x));
    EXPECT_EQ(labels_of(data), (std::vector<int32_t>{1, 0}));
  }
  const auto error = [](const std::map<std::string, Tensor>& tensors) {
    return diagnostic_of([&] { load_dataset(io::serialize_npz(tensors), "d.npz", 10); });
  };
  EXPECT_EQ(error({{"labels", labels}}), errors::no_samples("d.npz", "'x' and 'labels' or the inputs of a network"));
  EXPECT_EQ(error({{"a", x}, {"b", Tensor(DType::f32, {3, 2})}}),
            errors::sample_counts_differ("d.npz", 3, "b", 2, "a"));
  EXPECT_EQ(error({{"a", Tensor(DType::f32, {})}}), errors::samples_without_axis("d.npz", "a", "f32[]"));
  EXPECT_EQ(error({{"x", x}, {"labels", x}}), errors::labels_type("d.npz", "f32[2, 2]"));
  EXPECT_EQ(error({{"x", x}, {"labels", Tensor(DType::i32, {3})}}), errors::labels_and_samples_differ("d.npz", 3, 2));
  EXPECT_EQ(error({{"x", Tensor(DType::u8, {0, 2})}, {"labels", Tensor(DType::i32, {0})}}),
            errors::no_samples("d.npz", "at least one"));
  EXPECT_EQ(error({{"x", x}, {"labels", Tensor::of<int32_t>(DType::i32, {2}, std::array<int32_t, 2>{0, 10})}}),
            errors::label_out_of_range("d.npz", 1, 10, 9));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error({{"x", Tensor::of<float>(DType::f32, {2, 1}, std::array<float, 2>{0, nan})}}),
            errors::not_finite("d.npz", "x", "nan", 1, ""));
  EXPECT_EQ(error({{"x_train", x}, {"x_test", Tensor(DType::f32, {2, 3})}}),
            errors::parts_differ("d.npz", "x", "f32[2, 2]", "f32[2, 3]"));
}

TEST(Dataset, PathsThatLeadNowhere) {
  const test::TemporaryFolder folder;
  const auto none = folder / "none.csv";
  EXPECT_EQ(diagnostic_of([&] { load_dataset(none); }),
            errors::cannot_be_read(none.string(), "no such file or folder"));
  EXPECT_EQ(diagnostic_of([&] { load_dataset(folder.path()); }),
            errors::no_samples(folder.path().string(),
                               "NAME.png or NAME.jpg, in one folder for each class if there are classes"));
  EXPECT_EQ(diagnostic_of([] { load_dataset(Bytes(1), "a.parquet"); }), errors::data_set_form_unknown("a.parquet"));
  put(folder / "images", idx({1, 2, 2}, 4, 7));
  EXPECT_EQ(diagnostic_of([&] { load_idx_file(folder / "images", 10); }),
            errors::idx_name((folder / "images").string()));
}

TEST(Dataset, OptionsThatDoNotFit) {
  const Bytes text = test::to_bytes("size,kind\n1,0\n2,1\n");
  EXPECT_EQ(diagnostic_of([&] { load_dataset(text, "d.csv", 10, {.label = "kinds"}); }),
            errors::column_missing("d.csv: line 1", "kinds", ", did you mean 'kind'?"));
  EXPECT_EQ(diagnostic_of([] { parts_of(load_dataset(test::to_bytes("1,0\n"), "d.csv")); }),
            errors::split_impossible("d.csv", 1));
}

TEST(Dataset, Cifar10) {
  HS_NEEDS_TEST_DATA("cifar10_jpeg.tar.zst");
  const Dataset data = load_dataset(test::test_data("cifar10_jpeg.tar.zst"), 10);
  EXPECT_EQ(data.sample_dims(), (Dims{3, 32, 32}));
  EXPECT_EQ(data.size(), 60'000);
  for (int64_t i = 0; i < data.size(); i += 1000) data.batch(range(i, 1000));
  EXPECT_EQ(data.classes, (std::vector<std::string>{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog",
                                                    "horse", "ship", "truck"}));
  ASSERT_TRUE(data.split.has_value());
  EXPECT_EQ(data.split->train.size(), 50'000U);
  EXPECT_EQ(data.split->test.size(), 10'000U);
  std::vector<int> per_class(10);
  for (const int64_t i : data.split->train)
    ++per_class[static_cast<size_t>(data.labels.data<int32_t>()[static_cast<size_t>(i)])];
  EXPECT_EQ(per_class, std::vector<int>(10, 5000));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 400 << 10) << "KiB: 176 MiB of pixels and what decoding needs";
#endif
}

}  // namespace
}  // namespace halfstep::data
