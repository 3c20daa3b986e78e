// Comparisons of values in memory, and hypotheses about faults that are injected by hand.
#include "halfstep/verify/board/compare.h"

#include <gtest/gtest.h>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/temporary_folder.h"
#include "halfstep/verify/board/errors.h"
#include "halfstep/verify/board/folder.h"
#include "tests/support/error.h"

namespace halfstep::board {
namespace {

Tensor random_codes(const Dims& dims, uint64_t seed) {
  Tensor codes(DType::u8, dims);
  Random random(seed, 0);
  for (uint8_t& code : codes.data<uint8_t>()) code = static_cast<uint8_t>(random.below(256));
  return codes;
}

/// A Side with values of these names. u8 values are 8-bit codes.
Side side(const std::vector<std::pair<std::string, Tensor>>& values, const std::string& name = "side") {
  Manifest manifest{.network = "net", .stage = "integer", .path = "", .samples = 1, .graph = "", .entries = {}};
  std::vector<Tensor> contents;
  for (const auto& [value, tensor] : values) {
    Entry entry{.name = value, .layer = value, .op = "some", .type = tensor.type()};
    if (tensor.dtype() == DType::u8) entry.codes = Codes{0.5F, 7, 0, 255};
    manifest.entries.push_back(entry);
    contents.push_back(tensor);
  }
  return side_of(std::move(manifest), std::move(contents), name);
}

Comparison compared(const Side& a, const Side& b) {
  ThreadPool pool(1);
  return compare(a, b, pool);
}

/// The first hypothesis about `codes` that became `wrong`.
Guess guess(const Tensor& codes, const Tensor& wrong) {
  const Comparison result = compared(side({{"v", codes}}), side({{"v", wrong}}));
  return result.guesses.empty() ? Guess{} : result.guesses.front();
}

template <class F>
Tensor changed(const Tensor& codes, F change) {
  Tensor result = codes.clone();
  const Dims& d = codes.dims();
  for (int64_t i = 0; i < codes.size(); ++i) {
    const int64_t w = i % d[3], h = i / d[3] % d[2], c = i / (d[2] * d[3]) % d[1], n = i / (d[1] * d[2] * d[3]);
    set_element(result, i, change(n, c, h, w));
  }
  return result;
}

double at(const Tensor& codes, int64_t n, int64_t c, int64_t h, int64_t w) {
  const Dims& d = codes.dims();
  return element(codes, ((n * d[1] + c) * d[2] + h) * d[3] + w);
}

TEST(Compare, equal_values_are_equal_and_nothing_else_is) {
  const Tensor codes = random_codes({2, 40, 3, 5}, 1);
  EXPECT_TRUE(compared(side({{"v", codes}}), side({{"v", codes.clone()}})).equal());
  for (const int64_t index : {int64_t{0}, int64_t{599}, int64_t{1199}}) {
    Tensor other = codes.clone();
    set_element(other, index, static_cast<double>((static_cast<int>(element(codes, index)) + 1) % 256));
    const Comparison result = compared(side({{"v", codes}}), side({{"v", other}}));
    EXPECT_FALSE(result.equal());
    ASSERT_TRUE(result.values[0].place);
    EXPECT_EQ(result.values[0].differing, 1);
    EXPECT_EQ(result.values[0].place->indices[0].second, index);
  }
}

TEST(Compare, says_the_first_place_in_every_layout) {
  const Tensor codes(DType::u8, {2, 40, 3, 5});
  Tensor other = codes.clone();
  set_element(other, 1169, 9);  // (1, 37, 2, 4)
  const Comparison result = compared(side({{"v", codes}}), side({{"v", other}}));
  const Place& place = *result.values[0].place;
  EXPECT_EQ(place.position, (Dims{1, 37, 2, 4}));
  const std::vector<std::pair<std::string, int64_t>> expected = {{"NCHW", 1169}, {"NHWC", 1197}, {"NDHWC32", 1893}};
  EXPECT_EQ(place.indices, expected);
}

TEST(Compare, names_what_is_moved_or_changed) {
  const Tensor codes = random_codes({1, 8, 6, 6}, 2);
  const auto moved = [&](auto from) {
    return changed(codes, [&](int64_t n, int64_t c, int64_t h, int64_t w) { return from(n, c, h, w); });
  };
  const auto cyclic = [](int64_t i, int64_t extent) { return (i + extent) % extent; };
  const std::map<std::string, Tensor> faults = {
      {"height_width", moved([&](auto n, auto c, auto h, auto w) { return at(codes, n, c, w, h); })},
      {"pixel_shift", moved([&](auto n, auto c, auto h, auto w) { return at(codes, n, c, h, cyclic(w - 1, 6)); })},
      {"channel_shift", moved([&](auto n, auto c, auto h, auto w) { return at(codes, n, cyclic(c - 1, 8), h, w); })},
      {"mirrored", moved([&](auto n, auto c, auto h, auto w) { return at(codes, n, c, h, 5 - w); })},
      {"bgr", moved([&](auto n, auto c, auto h, auto w) { return at(codes, n, 7 - c, h, w); })},
      {"sign", moved([&](auto n, auto c, auto h, auto w) {
         return static_cast<double>(static_cast<int>(at(codes, n, c, h, w)) ^ 128);
       })},
      {"bit_shift", moved([&](auto n, auto c, auto h, auto w) { return std::floor(at(codes, n, c, h, w) / 2); })},
      {"zero_point", moved([&](auto n, auto c, auto h, auto w) { return std::max(0.0, at(codes, n, c, h, w) - 7); })},
      {"clamped", moved([&](auto n, auto c, auto h, auto w) { return std::min(99.0, at(codes, n, c, h, w)); })},
      {"one_value", moved([](auto, auto, auto, auto) { return 3.0; })},
      {"from_channel", moved([&](auto n, auto c, auto h, auto w) {
         return c < 4 ? at(codes, n, c, h, w) : static_cast<double>((h * 37 + w * 11 + c * 71) % 256);
       })}};
  for (const auto& [name, wrong] : faults) {
    const Guess found = guess(codes, wrong);
    EXPECT_EQ(found.name, name) << found.sentence;
    EXPECT_EQ(found.differing, 0) << name;
  }
}

TEST(Compare, says_nothing_of_noise) {
  EXPECT_TRUE(guess(random_codes({1, 8, 6, 6}, 3), random_codes({1, 8, 6, 6}, 4)).name.empty());
}

TEST(Compare, matches_what_is_called_otherwise_by_content) {
  const Tensor first = random_codes({1, 4, 3, 3}, 5), second = random_codes({1, 4, 3, 3}, 6);
  const Tensor last_axis = changed(first, [&](int64_t, int64_t c, int64_t h, int64_t w) {
    const int64_t i = (c * 3 + h) * 3 + w;  // reads the numbers in NHWC order
    return at(first, 0, i % 4, i / 12, i / 4 % 3);
  });
  const Comparison result =
      compared(side({{"a", first}, {"b", second}}), side({{"x", last_axis}, {"b", second.clone()}, {"extra", first}}));
  ASSERT_EQ(result.values.size(), 3U);
  EXPECT_EQ(result.values[0].second_name, "x");
  EXPECT_EQ(result.values[0].state, State::differs);
  EXPECT_EQ(result.guesses.at(0).name, "order");
  EXPECT_EQ(result.values[1].state, State::equal);
  EXPECT_EQ(result.values[2].state, State::extra);
}

TEST(Compare, floats_that_are_codes_are_read_as_codes) {
  const Tensor codes = random_codes({1, 4, 3, 3}, 9);
  Tensor floats(DType::f32, codes.dims());
  for (int64_t i = 0; i < codes.size(); ++i) set_element(floats, i, (element(codes, i) - 7) * 0.5);
  EXPECT_TRUE(compared(side({{"v", codes}}), side({{"v", floats}})).equal());
  set_element(floats, 3, element(floats, 3) + 0.1);  // halfway between two codes
  EXPECT_FALSE(compared(side({{"v", codes}}), side({{"v", floats}})).equal());
}

TEST(Compare, a_tolerance_is_for_floats_alone) {
  Tensor first(DType::f32, {1, 2, 2, 2});
  for (float& real : first.data<float>()) real = 2.0F;
  Tensor second = first.clone();
  second.data<float>()[5] = 2.01F;
  ThreadPool pool(1);
  EXPECT_FALSE(compare(side({{"v", first}}), side({{"v", second}}), pool, {0.001, 0}).equal());
  EXPECT_TRUE(compare(side({{"v", first}}), side({{"v", second}}), pool, {0.006, 0}).equal());
  EXPECT_TRUE(compare(side({{"v", first}}), side({{"v", second}}), pool, {0, 0.011}).equal());
  const Tensor codes = random_codes({1, 2, 2, 2}, 10);
  Tensor other = codes.clone();
  other.data<uint8_t>()[0] ^= 1;
  EXPECT_FALSE(compare(side({{"v", codes}}), side({{"v", other}}), pool, {1, 100}).equal());
}

TEST(Compare, sides_without_a_value_in_common_are_an_error) {
  const Diagnostic error = test::diagnostic_of([] {
    compared(side({{"a", random_codes({1, 2, 3, 3}, 7)}}, "A"), side({{"b", random_codes({1, 5, 3, 3}, 8)}}, "B"));
  });
  EXPECT_EQ(error, errors::dumps_without_common_value("A", "B", "a", "b"));
}

TEST(Compare, bare_files_need_a_side_that_describes_them) {
  const io::TemporaryFolder folder;
  const auto error = [](auto run) { return test::diagnostic_of(run); };
  const auto write = [&](const std::string& name, const std::string& text) { io::write_file(folder / name, text); };
  EXPECT_EQ(error([&] { read_folder(folder.path()); }).entry, &errors::dump_without_values_entry);
  write("v.bin", "");
  const std::string path = (folder / "v.bin").string();
  EXPECT_EQ(error([&] { read_folder(folder.path()); }), errors::dump_file_unfit(path, "an empty file", "values"));
  write("v.bin", "1234");
  const Side bare = read_folder(folder.path());
  EXPECT_EQ(error([&] { compared(bare, bare); }),
            errors::dumps_not_described(folder.path().string(), folder.path().string(), kManifestFile));
  Side unknown = bare;
  EXPECT_EQ(error([&] {
              interpret(unknown, side({{"w", random_codes({1, 1, 2, 2}, 1)}}, "W"));
            }).entry,
            &errors::dump_value_unknown_entry);
}

TEST(Compare, dumps_are_written_to_folders_of_dumps) {
  const io::TemporaryFolder folder;
  EXPECT_EQ(test::diagnostic_of([&] { require_dump_target(folder.path(), false); }), Diagnostic{});
  io::write_file(folder / "other.txt", std::string_view("1"));
  const std::string path = folder.path().string();
  EXPECT_EQ(test::diagnostic_of([&] { require_dump_target(folder.path(), false); }), errors::dump_target_exists(path));
  EXPECT_EQ(test::diagnostic_of([&] { require_dump_target(folder.path(), true); }), errors::dump_target_foreign(path));
}

}  // namespace
}  // namespace halfstep::board
