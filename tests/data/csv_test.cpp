#include "halfstep/data/datasets/csv.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "halfstep/core/base/embedded.h"
#include "halfstep/data/datasets/errors.h"
#include "tests/files/bytes.h"
#include "tests/support/error.h"

namespace halfstep::data {
namespace {

using test::diagnostic_of;

LabelledData parse(const std::string& text, int64_t classes = 10) {
  const test::Bytes bytes = test::to_bytes(text);
  return read_csv(*io::memory_source(bytes, "d.csv"), classes);
}
Diagnostic parse_error(const std::string& text) {
  return diagnostic_of([&] { parse(text); });
}

std::string pixels(int count) {
  std::string line = "0";
  for (int i = 1; i < count; ++i) line += ",0";
  return line;
}

TEST(Csv, NumbersAndLabels) {
  const LabelledData data = parse("1,2.5,3\r\n\n -4 ,5e-1,\t0 \n7,8,9");
  EXPECT_EQ(data.x.type(), (Type{DType::f32, {3, 2}}));
  const auto x = data.x.data<float>();
  EXPECT_EQ(std::vector<float>(x.begin(), x.end()), (std::vector<float>{1, 2.5F, -4, 0.5F, 7, 8}));
  const auto labels = data.labels.data<int32_t>();
  EXPECT_EQ(std::vector<int32_t>(labels.begin(), labels.end()), (std::vector<int32_t>{3, 0, 9}));
}

TEST(Csv, ByteOrderMarkIsPassedOver) {
  EXPECT_EQ(parse("\xEF\xBB\xBF"
                  "1,2\n")
                .x.data<float>()[0],
            1.0F);
}

TEST(Csv, LineNumbersCountEveryLine) {
  std::string text;
  for (int i = 0; i < 906; ++i) text += pixels(65) + "\n";
  const test::Bytes packed = test::gzipped(test::to_bytes(text + pixels(63) + "\n"));
  EXPECT_EQ(diagnostic_of([&] { read_csv(*io::decompressed(io::memory_source(packed, "digits.csv.gz"))); }),
            errors::csv_cells("digits.csv.gz: line 907", 63, "65, as in the line before it"));
}

TEST(Csv, ColumnCounts) {
  const std::string good = pixels(5) + "\n";
  EXPECT_EQ(parse_error(good + pixels(4)), errors::csv_cells("d.csv: line 2", 4, "5, as in the line before it"));
  EXPECT_EQ(parse_error(good + "\n0"), errors::csv_cells("d.csv: line 3", 1, "5, as in the line before it"));
  EXPECT_EQ(parse_error(good + pixels(6)), errors::csv_cells("d.csv: line 2", 6, "5, as in the line before it"));
  EXPECT_EQ(parse_error("7\n"), errors::csv_cells("d.csv: line 1", 1, "pixels and a label"));
}

TEST(Csv, Cells) {
  EXPECT_EQ(parse_error("0,1,2\n0,x1,2\n"), errors::csv_number("d.csv: line 2, column 2", "'x1'"));
  EXPECT_EQ(parse_error("a,b,label\n"), errors::no_samples("d.csv", "lines of pixels and a label"));
  for (const char* bad : {"", " ", "nan", "inf", "1e99", "1 2", "0x1", "--1"})
    EXPECT_EQ(parse_error(fmt::format("0,{},2", bad)).where, "d.csv: line 1, column 2") << bad;
  EXPECT_EQ(parse_error("\x1b[31mred,1\n"), errors::csv_number("d.csv: line 1, column 1", "'?[31mred'"));
  EXPECT_EQ(parse_error(std::string(50, 'z') + ",1"),
            errors::csv_number("d.csv: line 1, column 1", "'" + std::string(32, 'z') + "'..."));
}

TEST(Csv, Labels) {
  for (const char* bad : {"10", "-1", "3.0", "3.5", "cat", "", "99999999999999999999"})
    EXPECT_EQ(parse_error(fmt::format("0,0\n0,{}\n", bad)),
              errors::csv_label("d.csv: line 2, column 2", fmt::format("'{}'", bad), 9));
  EXPECT_EQ(diagnostic_of([] { parse("0,65536", kMaxClasses); }),
            errors::csv_label("d.csv: line 1, column 2", "'65536'", 65535));
}

TEST(Csv, Quotes) {
  EXPECT_EQ(parse_error("1,\"2\n"),
            errors::csv_quote("d.csv: line 1", "the end of the line in a quoted cell", "its closing quote"));
  EXPECT_EQ(parse_error("1,\"2\"3\n"), errors::csv_quote("d.csv: line 1", "text after a quoted cell", "a comma"));
}

TEST(Csv, EmptyFiles) {
  for (const char* text : {"", "\n", "\r\n \n"})
    EXPECT_EQ(parse_error(text), errors::no_samples("d.csv", "lines of pixels and a label"));
}

TEST(Csv, LongLines) {
  EXPECT_EQ(parse_error("0,1\n" + std::string(2 << 20, '1')),
            errors::csv_too_large("d.csv: line 2", "more than 1048576 bytes", "comma-separated numbers"));
  const std::string wide = pixels(500'000);  // just under the limit
  EXPECT_EQ(parse(wide + "\n" + wide).x.dims(), (Dims{2, 499'999}));
}

TEST(Csv, TruncatedGzip) {
  const auto whole = embedded("models/optdigits.csv.gz");
  const auto half = whole.first(whole.size() / 2);
  EXPECT_EQ(test::name_of([&] { read_csv(*io::decompressed(io::memory_source(half, "digits.csv.gz"))); }),
            "compressed_data_cut_off");
}

TEST(Csv, TruncationOfTextIsAnErrorOrFewerSamples) {
  const std::string text = "1,2,3\n4,5,6\n7,8,9\n";
  for (size_t size = 0; size < text.size(); ++size) {
    const Diagnostic error = parse_error(text.substr(0, size));
    EXPECT_TRUE(error == Diagnostic{} || error.where.starts_with("d.csv")) << error.message();
  }
}

}  // namespace
}  // namespace halfstep::data
