// Memory limits for opening a file: 64 MiB and 1.3 times the file for good files, 256 MiB and the file for hostile
// ones. A separate process runs under a kernel limit. It counts heap, stacks, anonymous memory, and the mapped file
// once more, because the mapping is private and writable.
#include <sys/resource.h>

#include <fstream>

#include "halfstep/formats/import/import.h"
#include "tests/formats/evaluate.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::formats::onnx {
namespace {

using halfstep::test::name_of;
using test::bound;
using test::ModelText;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // shadow memory exceeds every limit

constexpr size_t kMiB = size_t{1} << 20;

/// Memory in use by this process from earlier tests. RLIMIT_DATA counts it.
size_t data_in_use() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmData:")) return std::stoul(line.substr(7)) << 10;
  }
  return 0;
}

/// Ends this process with 0 if `body` throws nothing and uses no more than the given bytes.
template <class Body>
[[noreturn]] void within(size_t bytes, const Body& body) {
  if (bytes != RLIM_INFINITY) bytes += data_in_use();
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_DATA, &limit);
  try {
    body();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    std::_Exit(1);
  }
  std::_Exit(0);
}

class Limits : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    const auto path = folder_ / "m.onnx";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  const halfstep::test::TemporaryFolder folder_;
};

/// A chain of 100 products, with tensors of a MiB each.
std::string products(bool raw) {
  ModelText text;
  text.input("x", {-1, 512});
  for (int i = 0; i < 100; ++i) {
    const std::string name = fmt::format("w{}", i);
    proto::TensorData tensor = test::floats(name, {512, 512}, std::vector<float>(raw ? 512 * 512 : 0));
    if (!raw) {
      tensor.clear_raw_data();
      tensor.mutable_float_data()->Resize(512 * 512, 1);
    }
    text.add_tensor(tensor);
    text.add("MatMul", {i == 0 ? "x" : fmt::format("y{}", i), name}, {fmt::format("y{}", i + 1)});
  }
  text.output("y100");
  return text.text();
}

TEST_F(Limits, good_files) {
  for (const bool raw : {true, false}) {
    const auto path = folder_ / "m.onnx";
    // Written in another process, so that memory for creating the file does not count.
    EXPECT_EXIT(within(RLIM_INFINITY, [&] { write(products(raw)); }), testing::ExitedWithCode(0), "");
    const size_t file = std::filesystem::file_size(path);
    const size_t limit = 64 * kMiB + file * 13 / 10 + file;
    EXPECT_EXIT(within(limit, [&] { formats::open(path)->import(bound()); }), testing::ExitedWithCode(0), "") << raw;
  }
}

TEST_F(Limits, hostile_files) {
  const auto repeated = [](std::string_view message, size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += message;
    return text;
  };
  using std::string_view_literals::operator""sv;
  const std::string start = ModelText().text();
  for (const std::string_view message : {"\x3a\x02\x0a\x00"sv, "\x3a\x02\x5a\x00"sv, "\x3a\x04\x0a\x02\x0a\x00"sv,
                                         "\xca\x01\x00"sv, "\x42\x00"sv, "\x3a\x04\x2a\x02\x08\x01"sv}) {
    const auto path = write(start + repeated(message, 50 * kMiB / message.size()));
    const size_t limit = 256 * kMiB + std::filesystem::file_size(path);
    const auto refused = [&] {
      const std::string name(name_of([&] { formats::open(path)->import(bound()); }));
      if (name != "message_too_large") throw std::runtime_error("raised '" + name + "'");
    };
    EXPECT_EXIT(within(limit, refused), testing::ExitedWithCode(0), "") << testing::PrintToString(message);
  }
}

#endif

}  // namespace
}  // namespace halfstep::formats::onnx
