// The layouts of docs/guides/use_data.md: each one calibrates, trains and evaluates, or is refused by name.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "halfstep/core/files/file.h"
#include "halfstep/core/files/npz.h"
#include "halfstep/core/files/safetensors.h"
#include "halfstep/core/files/zip.h"
#include "halfstep/data/datasets/image.h"
#include "halfstep/halfstep.h"
#include "tests/files/bytes.h"
#include "tests/support/error.h"
#include "tests/support/files.h"
#include "tests/support/mentions.h"

namespace halfstep::api {
namespace {

using Path = std::filesystem::path;
using test::Bytes;

constexpr int kSamples = 24, kSide = 8;

/// An image that is bright on the left or on the right, by its class, number % 2.
Tensor picture(int number, int height = kSide, int width = kSide, int channels = 3) {
  Tensor image(DType::u8, {height, width, channels});
  uint8_t* to = image.data<uint8_t>().data();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const bool bright = (2 * x >= width) == (number % 2 == 1);
      for (int c = 0; c < channels; ++c) *to++ = static_cast<uint8_t>((bright ? 200 : 20) + (number * 7 + y + c) % 20);
    }
  }
  return image;
}

void put(const Path& path, const Bytes& bytes) {
  std::filesystem::create_directories(path.parent_path());
  io::write_file(path, bytes);
}
void put_text(const Path& path, const std::string& text) { put(path, test::to_bytes(text)); }

const char* class_of(int number) { return number % 2 == 1 ? "right" : "left"; }

/// Writes `count` images called PREFIX[CLASS/]NUMBER.png.
void put_pictures(const Path& folder, const std::string& prefix, bool classes, int count = kSamples, int channels = 3) {
  for (int i = 0; i < count; ++i)
    put(folder / prefix / (classes ? class_of(i) : "") / (std::to_string(i) + ".png"),
        data::encode_png(picture(i, kSide, kSide, channels)));
}

/// A line of a csv: pixels by channel, row after row.
std::string cells(int number, int channels) {
  const Tensor image = picture(number, kSide, kSide, channels);
  std::string text;
  for (int c = 0; c < channels; ++c) {
    for (int i = 0; i < kSide * kSide; ++i)
      text += (text.empty() ? "" : ",") + std::to_string(image.data<uint8_t>()[static_cast<size_t>(i * channels + c)]);
  }
  return text;
}

template <class Line>
std::string lines(Line line) {
  std::string text;
  for (int i = 0; i < kSamples; ++i) text += line(i) + "\n";
  return text;
}

/// x [n, 3, 8, 8] of u8, or of f32 from 0 to 1; labels [n].
Tensors tensors(DType dtype, bool labels, int64_t from = 0, int64_t to = kSamples) {
  Tensor x(dtype, {to - from, 3, kSide, kSide}), y(DType::i64, {to - from});
  for (int64_t i = from; i < to; ++i) {
    const Tensor image = picture(static_cast<int>(i));
    for (int64_t at = 0; at < image.size(); ++at) {
      const auto place = static_cast<size_t>((i - from) * image.size() + at % 3 * kSide * kSide + at / 3);
      const uint8_t value = image.data<uint8_t>()[static_cast<size_t>(at)];
      if (dtype == DType::u8) {
        x.data<uint8_t>()[place] = value;
      } else {
        x.data<float>()[place] = static_cast<float>(value) / 255;
      }
    }
    y.data<int64_t>()[static_cast<size_t>(i - from)] = i % 2;
  }
  return labels ? Tensors{{"x", x}, {"labels", y}} : Tensors{{"x", x}};
}

Bytes zip_of(const Path& folder) {
  std::map<std::string, Bytes> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      files.emplace(entry.path().lexically_relative(folder).string(), io::read_file(entry.path()));
  }
  return io::serialize_zip(files);
}

Bytes idx(const Dims& dims, std::span<const uint8_t> data) {
  Bytes bytes = {std::byte{0}, std::byte{0}, std::byte{8}, static_cast<std::byte>(dims.size())};
  for (const int64_t extent : dims)
    bytes.insert(bytes.end(), {std::byte{0}, std::byte{0}, std::byte{0}, static_cast<std::byte>(extent)});
  for (const uint8_t value : data) bytes.push_back(std::byte{value});
  return bytes;
}

struct Layout {
  friend void PrintTo(const Layout& layout, std::ostream* to) { *to << layout.name; }

  const char* name;
  const char* path;  ///< path below the folder that `make` fills
  std::function<void(const Path& folder)> make;
  int channels = 3;          ///< channels of the network's input
  bool labels = true;        ///< eval refuses to do without
  int64_t tested = 0;        ///< number of test samples; 0: a fifth of all samples, or all of them without labels
  std::string refused = "";  ///< a value that the error names where no verb takes it
  data::PreprocessOptions preprocess = {.preset = data::Preset::unit};
  DataOptions read = {};
};

const std::vector<Layout>& layouts() {
  const auto in_parts = [](const char* train, const char* val, const char* test) {
    return [=](const Path& f) {
      put_pictures(f / "d", train, true);
      put_pictures(f / "d", val, true, 6);
      put_pictures(f / "d", test, true, 4);
    };
  };
  static const std::vector<Layout> kLayouts = {
      {"classes", "d", [](const Path& f) { put_pictures(f / "d", "", true); }},
      {"nested", "d", [](const Path& f) { put_pictures(f / "d", "set/images", true); }},
      {"train_val", "d",
       [](const Path& f) {
         put_pictures(f / "d", "train", true);
         put_pictures(f / "d", "val", true, 6);
       },
       3, true, 6},
      {"train_val_test", "d", in_parts("Train", "Valid", "Test"), 3, true, 4},
      {"other_names", "d", in_parts("training", "VALIDATION", "testing"), 3, true, 4},
      {"no_classes", "d", [](const Path& f) { put_pictures(f / "d", "", false); }, 3, false},
      {"train_val_no_classes", "d",
       [](const Path& f) {
         put_pictures(f / "d", "train", false);
         put_pictures(f / "d", "val", false, 6);
       },
       3, false, 6},
      {"many_sizes",
       "d",
       [](const Path& f) {
         for (int i = 0; i < kSamples; ++i)
           put(f / "d" / class_of(i) / (std::to_string(i) + ".png"), data::encode_png(picture(i, 10 + i, 30 - i)));
       },
       3,
       true,
       0,
       "",
       {.preset = data::Preset::unit, .resize = 9, .crop = kSide}},
      {"grey_for_colour", "d", [](const Path& f) { put_pictures(f / "d", "", true, kSamples, 1); }},
      {"colour_for_grey", "d", [](const Path& f) { put_pictures(f / "d", "", true); }, 1},
      {"csv_label_last", "d.csv",
       [](const Path& f) {
         put_text(f / "d.csv", lines([](int i) { return cells(i, 1) + "," + std::to_string(i % 2); }));
       },
       1},
      {"csv_label_first", "d.csv",
       [](const Path& f) {
         put_text(f / "d.csv", lines([](int i) {
                    const std::string pixels = cells(i, 1);  // the last one is black, as in MNIST
                    return std::to_string(i % 2) + "," + pixels.substr(0, pixels.rfind(',')) + ",0";
                  }));
       },
       1},
      {"csv_label_asked_for",
       "d.csv",
       [](const Path& f) {
         put_text(f / "d.csv", lines([](int i) { return std::to_string(i % 2) + "," + cells(i, 1); }));
       },
       1,
       true,
       0,
       "",
       {.preset = data::Preset::unit},
       {.label = "first"}},
      {"csv_header_quotes_words", "d.csv",
       [](const Path& f) {
         std::string header = "\"label\"";
         for (int i = 0; i < kSide * kSide; ++i) header += fmt::format(",\"pixel, {}\"", i);
         put_text(f / "d.csv",
                  header + "\r\n" + lines([](int i) { return fmt::format("\"{}\",", class_of(i)) + cells(i, 1); }));
       },
       1},
      {"csv_no_labels", "d.csv.gz",
       [](const Path& f) {
         std::string header = "p0";
         for (int i = 1; i < kSide * kSide; ++i) header += fmt::format(",p{}", i);
         put(f / "d.csv.gz", test::gzipped(test::to_bytes(header + "\n" + lines([](int i) { return cells(i, 1); }))));
       },
       1, false},
      {"csv_of_colours", "d.csv",
       [](const Path& f) {
         put_text(f / "d.csv", lines([](int i) { return cells(i, 3) + "," + std::to_string(i % 2); }));
       }},
      {"list_of_paths", "list.txt",
       [](const Path& f) {
         put_pictures(f / "pictures", "", false);
         put_text(f / "list.txt", lines([](int i) { return fmt::format("pictures/{}.png", i); }));
       },
       3, false},
      {"list_with_labels", "list.csv",
       [](const Path& f) {
         put_pictures(f / "pictures", "", false);
         put_text(f / "list.csv",
                  "path,label\n" + lines([](int i) { return fmt::format("pictures/{}.png,{}", i, class_of(i)); }));
       }},
      {"npz", "d.npz", [](const Path& f) { io::write_npz(f / "d.npz", tensors(DType::u8, true)); }},
      {"npz_no_labels", "d.npz", [](const Path& f) { io::write_npz(f / "d.npz", tensors(DType::u8, false)); }, 3,
       false},
      {"npz_keras", "d.npz",
       [](const Path& f) {
         const Tensors train = tensors(DType::u8, true, 0, 20), test = tensors(DType::u8, true, 20, 24);
         io::write_npz(f / "d.npz", {{"x_train", train.at("x")},
                                     {"y_train", train.at("labels")},
                                     {"x_test", test.at("x")},
                                     {"y_test", test.at("labels")}});
       },
       3, true, 4},
      {"safetensors", "d.safetensors",
       [](const Path& f) {
         io::write_safetensors(f / "d.safetensors", {tensors(DType::f32, true), {}});
       }},
      {"safetensors_no_labels", "d.safetensors",
       [](const Path& f) {
         io::write_safetensors(f / "d.safetensors", {tensors(DType::f32, false), {}});
       },
       3, false},
      {"archive", "d.zip",
       [](const Path& f) {
         put_pictures(f / "d", "train", true);
         put_pictures(f / "d", "val", true, 6);
         put(f / "d.zip", zip_of(f / "d"));
       },
       3, true, 6},
      {"archive_of_csv", "d.zip",
       [](const Path& f) {
         put_text(f / "d/set.csv", lines([](int i) { return cells(i, 1) + "," + std::to_string(i % 2); }));
         put(f / "d.zip", zip_of(f / "d"));
       },
       1},
      {"idx", "d",
       [](const Path& f) {
         std::vector<uint8_t> pixels, labels;
         for (int i = 0; i < kSamples; ++i) {
           const Tensor image = picture(i, kSide, kSide, 1);
           pixels.insert(pixels.end(), image.data<uint8_t>().begin(), image.data<uint8_t>().end());
           labels.push_back(static_cast<uint8_t>(i % 2));
         }
         put(f / "d/train-images-idx3-ubyte", idx({kSamples, kSide, kSide}, pixels));
         put(f / "d/train-labels-idx1-ubyte", idx({kSamples}, labels));
       },
       1},
      {"bad_one_left_out",
       "d",
       [](const Path& f) {
         put_pictures(f / "d", "", true);
         put_text(f / "d/left/bad.jpg", "no picture");
       },
       3,
       true,
       0,
       "",
       {.preset = data::Preset::unit},
       {.skip_bad = true}},
      {"bad_one", "d",
       [](const Path& f) {
         put_pictures(f / "d", "", true);
         put_text(f / "d/left/bad.jpg", "no picture");
       },
       3, true, 0, "left/bad.jpg"},
      {"other_format", "d", [](const Path& f) { put_text(f / "d/a.gif", "GIF89a"); }, 3, true, 0, "a.gif"},
      {"sizes_without_a_frame", "d",
       [](const Path& f) {
         put(f / "d/1.png", data::encode_png(picture(1, 20, 30)));
         put(f / "d/2.png", data::encode_png(picture(2, 40, 10)));
       },
       3, true, 0, "10 x 20 to 30 x 40 pixels"},
      {"crop_too_large",
       "d",
       [](const Path& f) { put(f / "d/1.png", data::encode_png(picture(1, 20, 6))); },
       3,
       true,
       0,
       "6 x 20 pixels",
       {.crop = 8}},
      {"half_labelled", "d",
       [](const Path& f) {
         put_pictures(f / "d", "train", true);
         put_pictures(f / "d", "test", false, 6);
       },
       3, true, 0, "test/"},
      {"unknown", "d.parquet", [](const Path& f) { put_text(f / "d.parquet", "PAR1"); }, 3, true, 0, "d.parquet"},
  };
  return kLayouts;
}

/// A float network for images of that many channels, with two classes.
Model network_for(int channels) {
  Dataset data = make_data(tensors(DType::u8, true), "pictures");
  if (channels == 1) {
    Tensor x(DType::u8, {kSamples, 1, kSide, kSide});
    data.x = x;
  }
  return create_network("digits", data, 3);
}

class DataLayouts : public testing::TestWithParam<Layout> {};

TEST_P(DataLayouts, CalibrateTrainAndEvaluate) {
  const Layout& layout = GetParam();
  const test::TemporaryFolder folder;
  layout.make(folder.path());
  const std::string path = (folder / layout.path).string();
  const Model network = network_for(layout.channels);
  const auto calibrated = [&] {
    const Dataset data = load_data(path, classes_of(network), layout.read);
    return quantize(network, quant::load_platform("generic_int8"), data, {.preprocess = layout.preprocess}, {});
  };
  if (!layout.refused.empty()) {
    EXPECT_TRUE(test::mentions(test::diagnostics_of(calibrated), layout.refused))
        << test::diagnostic_of(calibrated).message();
    return;
  }
  const Model prepared = calibrated().model;
  const Dataset data = load_data(path, classes_of(network), layout.read);
  EXPECT_EQ(data.has_labels(), layout.labels);
  const TrainResult trained = train(prepared, data, {.epochs = 1, .batch = 4}, {});  // the Model knows how to
                                                                                     // preprocess them
  EXPECT_EQ(trained.accuracy.has_value(), layout.labels);
  EXPECT_TRUE(trained.notes.empty() || layout.read.skip_bad) << trained.notes.front();
  const auto evaluated = [&] { return evaluate(trained.model, data, {.top = 2}, {}); };
  if (!layout.labels) {
    EXPECT_EQ(test::kind_of(evaluated), ErrorKind::bad_input);
  } else {
    const EvaluateResult found = evaluated();
    EXPECT_EQ(found.samples, layout.tested > 0 ? layout.tested : 4);
    EXPECT_EQ(found.top, 1.0);
  }
  EXPECT_TRUE(verify(prepared, convert(prepared).model, data, {}, {}).equal());
}

INSTANTIATE_TEST_SUITE_P(All, DataLayouts, testing::ValuesIn(layouts()),
                         [](const auto& layout) { return std::string(layout.param.name); });

TEST(DataOptionsOfVerbs, PartsAndSamples) {
  const Dataset all = data::digits(data::kMaxClasses, {.all = true});
  EXPECT_EQ(data::split(all).test.size(), 1797);
  EXPECT_EQ(data::split(all).tested, "all samples");
  const Dataset some = data::digits(data::kMaxClasses, {.samples = 50});
  EXPECT_EQ(data::split(some).train.size(), 50);
  EXPECT_EQ(data::split(some).test.size(), 50);
  EXPECT_EQ(data::split(data::digits()).test.size(), 359);
}

TEST(DataNotes, RawValuesWithoutPreprocessingAreSaid) {
  const Dataset data = make_data(tensors(DType::u8, true), "pictures");
  Model network = network_for(3);
  data::set_preprocess(network, data::Preprocess());
  const EvaluateResult raw = evaluate(network, data, {}, {});
  ASSERT_EQ(raw.notes.size(), 1U);
  EXPECT_TRUE(raw.notes[0].starts_with("pictures: raw values from 20 to 219 go to network 'digits' unchanged"))
      << raw.notes[0];
  EXPECT_TRUE(evaluate(network, data, {.preprocess = {.preset = data::Preset::unit}}, {}).notes.empty());
}

TEST(InspectData, SaysWhatThereIs) {
  const test::TemporaryFolder folder;
  put_pictures(folder.path(), "train", true, 12);
  put(folder / "val/left/9.png", data::encode_png(picture(0, 4, 16)));
  const Dataset data = load_data(folder.path().string());
  const DataReport report = inspect_data(data, {});
  EXPECT_EQ(report.form, "image folder");
  EXPECT_EQ(report.samples, 13);
  EXPECT_EQ(report.classes, (std::vector<std::pair<std::string, int64_t>>{{"left", 7}, {"right", 6}}));
  EXPECT_EQ(report.sizes, (std::vector<std::pair<std::string, int64_t>>{{"8 x 8", 12}, {"16 x 4", 1}}));
  EXPECT_EQ(report.train, 12);
  EXPECT_EQ(report.test, 1);
  EXPECT_EQ(report.tested, "val/");
  EXPECT_EQ(report.sample, (Dims{3, kUnknown, kUnknown}));
  EXPECT_EQ(report.measured, 13);
  EXPECT_EQ(report.least, 20);
  EXPECT_LE(report.most, 219);
  EXPECT_NEAR(report.mean[0], 119.5, 2);
  EXPECT_NEAR(report.deviation[0], 90, 2);
  write_contact_sheet(data, folder / "sheet.png");
  const Tensor sheet = data::decode_image(io::read_file(folder / "sheet.png"), "sheet");
  EXPECT_EQ(sheet.dims(), (Dims{204, 1204, 3}));
  EXPECT_NE(report::as_text(report).find("--scale 1/255 --mean"), std::string::npos);
}

}  // namespace
}  // namespace halfstep::api
