// `halfstep report`: the page of a network, its refusals, and names that are escaped as text.
#include <gtest/gtest.h>

#include <filesystem>

#include "halfstep/api/errors.h"
#include "halfstep/core/ir/model.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

using test::Workspace;

class Report : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    workspace = new Workspace;
    quick_start(*workspace);
  }
  static void TearDownTestSuite() { delete workspace; }

  static std::vector<std::string> words(const std::vector<std::string>& more) {
    std::vector<std::string> all = {"report", "--samples", "100",       "--analyzed",
                                    "60",     "--out",     "page.html", "--overwrite"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static std::string page() { return test::read_text(*workspace / "page.html"); }

  static inline Workspace* workspace = nullptr;
};

TEST_F(Report, the_page_has_what_the_json_has) {
  const nlohmann::json json = workspace->expect(0, words({"quick/prepared.safetensors", "--json"})).json();
  const std::string html = page();
  EXPECT_LT(html.size(), 2'000'000U);
  EXPECT_NE(html.find(json["verdict"].get<std::string>()), std::string::npos);
  EXPECT_NE(html.find(json["validation"].get<std::string>()), std::string::npos);
  for (const auto& layer : json["layers"])
    EXPECT_NE(html.find("<code>" + layer.get<std::string>() + "</code>"), std::string::npos) << layer;
  for (const auto& one : json["analysis"]["quantizers"]) {
    if (one["layer"].get<std::string>().empty()) continue;  // an input, whose name is quoted
    EXPECT_NE(html.find(one["place"].get<std::string>() + ", 8 bits"), std::string::npos) << one["place"];
  }
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("http"), std::string::npos);
}

TEST_F(Report, a_network_without_integers_says_why_there_is_no_proof) {
  workspace->expect(0, {"quantize", "quick/float.safetensors", "--skip-layers", "conv2", "--out", "part.safetensors"});
  const auto outcome = workspace->expect(1, words({"part.safetensors"}));
  EXPECT_NE(outcome.out.find("no integer program, so no proof"), std::string::npos) << outcome.out;
  EXPECT_NE(page().find("No proof: "), std::string::npos);
}

TEST_F(Report, names_are_text) {
  Model model = load_model(*workspace / "quick/float.safetensors");
  model.graph.set_name("<script>alert(1)</script>");
  save_model(model, *workspace / "float.safetensors");
  workspace->expect(0, {"quantize", "float.safetensors", "--out", "named.safetensors"});
  workspace->expect(0, words({"named.safetensors"}));
  EXPECT_EQ(page().find("<script>"), std::string::npos);
  EXPECT_NE(page().find("&lt;script&gt;alert(1)&lt;/script&gt;"), std::string::npos);
}

TEST_F(Report, refuses_what_it_cannot_show) {
  test::write_text(*workspace / "bits.json", "{}");
  EXPECT_EQ(workspace->error(2, words({"quick/prepared.safetensors", "--bits-report", "bits.json"})),
            errors::not_bits_json("bits.json"));
  EXPECT_TRUE(
      test::mentions(workspace->errors(2, words({"quick/prepared.safetensors", "--training", "quick"})), "quick"));
  EXPECT_EQ(workspace->error(2, words({"quick/float.safetensors"})),
            errors::wrong_stage("quick/float.safetensors", "a float network", "a prepared one", "run quantize first"));
}

}  // namespace
}  // namespace halfstep
