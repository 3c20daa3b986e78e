#include "halfstep/core/files/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::io {
namespace {

using test::diagnostic_of;

Diagnostic in_no_folder(const std::filesystem::path& path) {
  return errors::cannot_be_written(path.string(), "no such file or directory", "create its folder, or choose another");
}

TEST(AtomicFile, WritesAndReplaces) {
  const test::TemporaryFolder folder;
  write_file(folder / "a.txt", "one");
  EXPECT_EQ(read_text_file(folder / "a.txt"), "one");
  write_file(folder / "a.txt", "");
  EXPECT_EQ(read_text_file(folder / "a.txt"), "");
}

TEST(AtomicFile, LargeFilesComeBackWhole) {
  const test::TemporaryFolder folder;
  const std::string text(3 << 20, 'x');
  write_file(folder / "a", text);
  EXPECT_EQ(read_text_file(folder / "a"), text);
}

TEST(AtomicFile, NamesPathAndReason) {
  const test::TemporaryFolder folder;
  const auto path = folder / "none/a.txt";
  EXPECT_EQ(diagnostic_of([&] { write_file(path, "x"); }), in_no_folder(path));
}

/// Names of the entries directly in a folder.
std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

/// The error of `write` when no file may exceed 1,000 bytes.
Diagnostic error_on_full_disk(const std::function<void()>& write) {
  rlimit before{};
  EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Diagnostic error = diagnostic_of(write);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  return error;
}

TEST(AtomicFile, OfSeveralAllAreWrittenOrNone) {
  const test::TemporaryFolder folder;
  const std::string fits(500, 'x'), is_too_large(5000, 'x');
  const auto bytes = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  write_file(folder / "a", "old");
  const Diagnostic error = error_on_full_disk([&] {
    write_files({{folder / "a", bytes(fits)}, {folder / "b", bytes(is_too_large)}, {folder / "c", bytes(fits)}});
  });
  EXPECT_EQ(error, errors::cannot_be_written((folder / "b").string(), "file too large", "choose another path"));
  EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"a"});
  EXPECT_EQ(read_text_file(folder / "a"), "old");
  write_files({{folder / "a", bytes(fits)}, {folder / "b", bytes(is_too_large)}});
  EXPECT_EQ(names_in(folder.path()), (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(read_text_file(folder / "b"), is_too_large);
}

TEST(AtomicFile, LeavesNoTemporaryWhenTheDiskIsFull) {
  const test::TemporaryFolder folder;
  write_file(folder / "a", "old");
  const Diagnostic error = error_on_full_disk([&] { write_file(folder / "a", std::string(5000, 'x')); });
  EXPECT_EQ(error, errors::cannot_be_written((folder / "a").string(), "file too large", "choose another path"));
  EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"a"});
  EXPECT_EQ(read_text_file(folder / "a"), "old");
}

/// Other people's files may have any name except the current random one.
TEST(AtomicFile, TouchesNobodyElsesTemporaries) {
  const test::TemporaryFolder folder;
  write_file(folder / "victim", "precious");
  std::filesystem::create_symlink(folder / "victim", folder / "a.tmp");
  write_file(folder / "b.tmp", "mine");
  write_file(folder / "a", "new");
  make_folder(folder.path());
  EXPECT_EQ(read_text_file(folder / "victim"), "precious");
  EXPECT_EQ(names_in(folder.path()), (std::set<std::string>{"a", "a.tmp", "b.tmp", "victim"}));
}

TEST(AtomicFile, ReplacesALinkAndNotWhatItLeadsTo) {
  const test::TemporaryFolder folder;
  write_file(folder / "elsewhere", "precious");
  std::filesystem::create_symlink(folder / "elsewhere", folder / "a");
  std::filesystem::create_symlink("circle", folder / "circle");
  for (const char* name : {"a", "circle"}) {
    require_file_target(folder / name);
    write_file(folder / name, "new");
    EXPECT_FALSE(std::filesystem::is_symlink(folder / name)) << name;
    EXPECT_EQ(read_text_file(folder / name), "new");
  }
  EXPECT_EQ(read_text_file(folder / "elsewhere"), "precious");
}

int make_socket(const std::filesystem::path& path) {
  const int number = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(::bind(number, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return number;
}

TEST(AtomicFile, RefusesWhatIsNoFileByName) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "folder");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const int socket = make_socket(folder / "socket");
  std::filesystem::create_symlink("/dev/null", folder / "link");
  const std::map<std::string, std::string> refused = {
      {"folder", "a folder"}, {"pipe", "a pipe"}, {"socket", "a socket"}, {"link", "a device"}};
  for (const auto& [name, what] : refused) {
    const std::string path = (folder / name).string();
    const Diagnostic no_file = errors::output_not_a_file(path, what);
    EXPECT_EQ(diagnostic_of([&] { write_file(path, "x"); }), no_file);
    EXPECT_EQ(diagnostic_of([&] { require_file_target(path); }), no_file);
    if (name != "folder") {
      const Diagnostic no_folder = errors::output_not_a_folder(path, what);
      EXPECT_EQ(diagnostic_of([&] { make_folder(path); }), no_folder);
      EXPECT_EQ(diagnostic_of([&] { require_folder_target(path); }), no_folder);
    }
  }
  EXPECT_EQ(names_in(folder.path()), (std::set<std::string>{"folder", "link", "pipe", "socket"}));
  ::close(socket);
}

TEST(AtomicFile, SaysBeforehandThatAFolderTakesNoFile) {
  EXPECT_EQ(diagnostic_of([] { require_file_target("/proc/a"); }), in_no_folder("/proc/a"));
  EXPECT_EQ(diagnostic_of([] { make_folder("/proc/a"); }).entry, &errors::folder_cannot_be_made_entry);
  const test::TemporaryFolder folder;
  require_folder_target(folder / "new");
  make_folder(folder / "new/inner");
  EXPECT_TRUE(names_in(folder / "new/inner").empty());
}

TEST(AtomicFile, OneOfManyWritersWinsWhole) {
  const test::TemporaryFolder folder;
  std::vector<std::jthread> writers;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([&folder, letter] {
      for (int i = 0; i < 50; ++i) write_file(folder / "file", std::string(100'000, letter));
    });
  }
  writers.clear();
  const std::string text = read_text_file(folder / "file");
  EXPECT_EQ(text, std::string(100'000, text[0]));
  EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"file"});
}

}  // namespace
}  // namespace halfstep::io
