#include "halfstep/core/base/system_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "halfstep/core/files/mapped_file.h"

namespace halfstep {
namespace {

/// Bytes of mapped files that this process has in memory.
int64_t mapped_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:")) return std::stoll(line.substr(8)) * 1024;
  }
  return -1;
}

TEST(SystemMemory, PagesOfAFileGoBackAndPagesThatWereWrittenToStay) {
  constexpr size_t kBytes = size_t{16} << 20;
  const auto path = std::filesystem::temp_directory_path() / "halfstep_give_back_pages";
  std::ofstream(path) << std::string(kBytes, 'a');
  const auto file = io::MappedFile::open(path);
  std::filesystem::remove(path);
  const std::shared_ptr<std::byte> memory = io::memory_of(file, file->bytes());
  std::byte* bytes = memory.get();
  constexpr size_t kWritten = (size_t{3} << 20) + 77;
  bytes[kWritten] = std::byte{'b'};
  size_t letters = 0;
  for (size_t i = 0; i < kBytes; ++i) letters += bytes[i] == std::byte{'a'} ? 1 : 0;
  EXPECT_EQ(letters, kBytes - 1);

  const int64_t before = mapped_bytes();
  give_back_pages({bytes + 1, kBytes - 2});
  const int64_t gone = before - mapped_bytes();
  EXPECT_EQ(bytes[kWritten], std::byte{'b'});
  EXPECT_EQ(bytes[kBytes - 1], std::byte{'a'});
  if (!std::ifstream("/proc/self/pagemap")) GTEST_SKIP() << "this system does not tell which pages were written to";
  EXPECT_GT(gone, static_cast<int64_t>(kBytes * 3 / 4));
}

TEST(SystemMemory, OrdinaryMemoryStays) {
  std::vector<std::byte> bytes(size_t{4} << 20, std::byte{7});
  give_back_pages(bytes);
  EXPECT_EQ(std::ranges::count(bytes, std::byte{7}), static_cast<int64_t>(bytes.size()));
}

}  // namespace
}  // namespace halfstep
