// Checksums against the test vectors of their standards, and manifests with wrong contents.
#include "halfstep/verify/board/manifest.h"

#include <gtest/gtest.h>

#include "halfstep/verify/board/errors.h"
#include "tests/support/error.h"

namespace halfstep::board {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Digest, has_the_vectors_of_fips_180_and_rfc_1321) {
  EXPECT_EQ(sha256(bytes_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digests(bytes_of("message digest")).md5, "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(digests({}).md5, "d41d8cd98f00b204e9800998ecf8427e");
}

Manifest small() {
  Manifest manifest{"net", "integer", "integer program", 2, "graph", {}};
  Entry entry{.name = "conv1", .layer = "conv1", .op = "integer_conv2d", .type = {DType::u8, {2, 40, 3, 5}}};
  entry.codes = Codes{0.1F, 3, 0, 255};
  set_order(entry.layout, parse_order("ndhwc32", "test"));
  entry.layout.border = {1, 2, 3, 4};
  entry.file = file_name(0, entry.name, entry.format);
  entry.bytes = 17;
  entry.digests = digests(bytes_of("abc"));
  manifest.entries.push_back(entry);
  return manifest;
}

TEST(Manifest, comes_back_as_it_was) {
  const std::string text = to_text(small());
  const Manifest again = parse_manifest(text, "m");
  EXPECT_EQ(to_text(again), text);
  ASSERT_EQ(again.entries.size(), 1U);
  EXPECT_EQ(again.entries[0].codes, small().entries[0].codes);
  EXPECT_EQ(again.entries[0].layout, small().entries[0].layout);
  EXPECT_EQ(again.entries[0].type, small().entries[0].type);
}

TEST(Manifest, says_all_that_is_wrong_at_once) {
  std::string text = to_text(small());
  const auto replace = [&](const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
  replace("\"type\": \"u8\"", "\"type\": \"u9\"");
  replace("\"order\": \"ndhwc32\"", "\"order\": \"chwn\"");
  replace("\"bytes\": 17", "\"bytes\": \"many\"");
  replace("\"format\": \"bin\"", "\"format\": \"elf\"");
  const std::vector<Diagnostic> found = test::diagnostics_of([&] { parse_manifest(text, "m"); });
  const std::vector<Diagnostic> expected = {
      errors::dump_layout_unknown("m: values[0].type", "u9", "an element type, as in u8"),
      errors::dump_layout_unknown("m: values[0].layout.order", "chwn",
                                  "nchw, nhwc or ndhwcB, as in ndhwc32: blocks of B channels, 2 to 1024"),
      errors::dump_layout_unknown("m: values[0].format", "elf", "bin, npy or txt"),
      errors::manifest_value_unfit("m: values[0].bytes", "\"many\"", "an integer")};
  EXPECT_EQ(found, expected);
}

/// Dumps of version 0.1 have "feature" in place of "activation".
TEST(Manifest, of_version_0_1_is_read) {
  const std::string today = to_text(small()), now = "\"what\": \"activation\"";
  std::string earlier = today;
  ASSERT_NE(earlier.find(now), std::string::npos) << earlier;
  earlier.replace(earlier.find(now), now.size(), "\"what\": \"feature\"");
  EXPECT_EQ(to_text(parse_manifest(earlier, "m")), today);
}

TEST(Manifest, is_no_other_json) {
  EXPECT_EQ(test::diagnostic_of([] { parse_manifest("[1]", "m"); }),
            errors::manifest_value_unfit("m", "no JSON object", "the manifest of a dump"));
  EXPECT_EQ(test::diagnostic_of([] { parse_manifest("{\"schema\": 9}", "m"); }),
            errors::manifest_value_unfit("m: schema", 9, 1));
}

TEST(Manifest, names_files_by_letters_that_every_system_has) {
  EXPECT_EQ(file_name(7, "/conv1/Conv:0", Format::bin), "007__conv1_Conv_0.bin");
  EXPECT_EQ(value_name("007_conv1.bin"), "conv1");
  EXPECT_EQ(value_name("conv1.bin"), "conv1");
  EXPECT_EQ(value_name("12_conv1.bin"), "12_conv1");
}

}  // namespace
}  // namespace halfstep::board
