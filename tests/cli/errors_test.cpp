// The error catalogue on the command line, and errors of the command line that no other test covers.
#include <gtest/gtest.h>

#include "halfstep/api/errors.h"
#include "halfstep/api/tools/explain.h"
#include "halfstep/core/base/errors.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"

namespace halfstep {
namespace {

using test::Workspace;

TEST(Explain, AnErrorByItsIdOrName) {
  Workspace workspace;
  for (const char* word : {"HS1002", "hs1002", "1002", "record_wrong"}) {
    const auto json = workspace.expect(0, {"explain", word, "--json"}).json();
    EXPECT_EQ(json["id"], "HS1002");
    EXPECT_EQ(json["name"], "record_wrong");
    EXPECT_EQ(json["kind"], "bad_input");
    EXPECT_EQ(json["explanation"], std::string(errors::record_wrong_entry.explanation));
  }
  const std::string text = workspace.expect(0, {"explain", "HS9002"}).out;
  for (const std::string_view part : {errors::unknown_command_entry.title, errors::unknown_command_entry.explanation,
                                      errors::unknown_command_entry.remedy, errors::unknown_command_entry.name})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(Explain, AnUnknownIdWithTheNearest) {
  Workspace workspace;
  EXPECT_EQ(workspace.error(2, {"explain", "no_comand"}),
            errors::unknown_error("no_comand", ", did you mean 'no_command'?"));
  EXPECT_EQ(workspace.error(2, {"explain", "nothing alike at all"}), errors::unknown_error("nothing alike at all", ""));
  EXPECT_NE(workspace.expect(2, {"explain", "HS0000"}).err.find(" HS8001: "), std::string::npos);
}

TEST(Explain, AllWithoutAnId) {
  Workspace workspace;
  const auto json = workspace.expect(0, {"explain", "--json"}).json()["errors"];
  const std::string text = workspace.expect(0, {"explain"}).out;
  ASSERT_EQ(json.size(), api::all_errors().size());
  size_t i = 0;
  for (const ErrorEntry* entry : api::all_errors()) {
    EXPECT_EQ(json[i]["id"], std::string(entry->id));
    EXPECT_EQ(json[i]["kind"] == "internal", entry->kind == ErrorKind::internal);
    EXPECT_NE(text.find(std::string(entry->id) + "  " + std::string(entry->title) + "\n"), std::string::npos);
    ++i;
  }
}

/// An unexpected failure, such as a missing folder for temporary files, is not reported as wrong input.
TEST(CommandLine, ADefectHasAnExitCodeOfItsOwn) {
  Workspace workspace;
  quick_start(workspace);
  const std::map<std::string, std::string> environment = {{"TMPDIR", "/nowhere"}};
  EXPECT_EQ(workspace.error(70, {"verify", "quick", "--backend", "c"}, environment).entry, &errors::defect_entry);
  EXPECT_NE(workspace.expect(70, {"verify", "quick", "--backend", "c"}, environment).err.find("error HS1000"),
            std::string::npos);
}

TEST(CommandLine, WhatGoesTogetherAndWhatDoesNot) {
  Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "1", "--out", "run"});
  const std::string model = "run/model.safetensors";
  EXPECT_EQ(workspace.error(2, {"run", model}), errors::run_without_inputs(model));
  EXPECT_EQ(workspace.error(2, {"run", model, "--test-data", "."}), errors::test_data_of_model(model));
  EXPECT_EQ(workspace.error(2, {"eval", model, "--size", "8"}),
            errors::option_of_other_form("eval: --size", "8", "HEIGHTxWIDTH, as in 224x224"));
  EXPECT_EQ(workspace.error(2, {"op", "check", "--all", "--operator", "add"}),
            errors::problems_not_chosen("check", "more than one"));
}

TEST(CommandLine, SeedsOfTheFuzzer) {
  Workspace workspace;
  EXPECT_EQ(workspace.error(2, {"fuzz", "--seeds", "x:3"}),
            errors::option_of_other_form("fuzz: --seeds", "x:3", "A:B, or A for one"));
  EXPECT_EQ(workspace.error(2, {"fuzz", "--seeds", "3:3"}), errors::seeds_out_of_order(3, 3));
}

}  // namespace
}  // namespace halfstep
