// Runs each libFuzzer target of tests/fuzz over its seeds, without libFuzzer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "halfstep/core/files/file.h"
#include "tests/fuzz/target.h"

namespace halfstep::test {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(HALFSTEP_SOURCE_DIR) / "tests/fuzz";

// The seeds include broken files, which must end in an Error.
TEST(Corpus, EveryTargetTakesItsSeeds) {
  for (const auto& [name, target] : fuzz::targets()) {
    SCOPED_TRACE(name);
    int seeds = 0;
    for (const auto& seed : fs::directory_iterator(kFolder / "corpus" / name)) {
      const auto bytes = io::read_file(seed.path());
      fuzz::run(target, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      ++seeds;
    }
    EXPECT_GT(seeds, 0);
  }
}

TEST(Corpus, HasATargetForEverySource) {
  const auto is_source = [](const auto& entry) { return entry.path().extension() == ".cpp"; };
  EXPECT_EQ(std::ssize(fuzz::targets()), std::ranges::count_if(fs::directory_iterator(kFolder), is_source));
}

}  // namespace
}  // namespace halfstep::test
