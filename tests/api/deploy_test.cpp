// Writes every file that a platform record can name.
#include <gtest/gtest.h>

#include "halfstep/halfstep.h"
#include "halfstep/quant/platform/record_keys.h"
#include "tests/support/files.h"

namespace halfstep::api {
namespace {

TEST(Deploy, EveryFormatIsWritten) {
  const Dataset data = data::digits(data::kMaxClasses, {.samples = 64});
  const Model network = create_network("digits", data, 3);
  for (const std::string& format : quant::deploy_formats()) {
    const test::TemporaryFolder folder;
    const auto platform = quant::load_platform("tensorrt", {{"deploy", "[" + format + "]"}});
    const QuantizeResult prepared = quantize(network, platform, data, {}, {});
    const auto files = export_deploy(prepared.model, {folder.path() / "out"});
    ASSERT_EQ(files.size(), 1U) << format;
    EXPECT_GT(std::filesystem::file_size(folder.path() / "out" / files[0]), 100U) << format;
  }
}

}  // namespace
}  // namespace halfstep::api
