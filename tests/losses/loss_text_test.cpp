#include "halfstep/engine/losses/loss_text.h"

#include <gtest/gtest.h>

#include "halfstep/core/base/errors.h"
#include "halfstep/engine/losses/errors.h"
#include "halfstep/engine/losses/loss_network.h"
#include "tests/support/error.h"

namespace halfstep::losses {
namespace {

using test::diagnostic_of;
using test::name_of;

TEST(LossText, HasTermsWithFactorsAndSettings) {
  const LossText terms =
      parse_loss(R"( mse (output=p3, ignore=-1) * 0.5+2*focal(alpha=0.5,target="a, b",reduction=sum))");
  ASSERT_EQ(terms.size(), 2U);
  EXPECT_EQ(terms[0].info->name, "mse");
  EXPECT_EQ(terms[0].factor, 0.5);
  EXPECT_EQ(terms[0].operands.at("output"), "p3");
  EXPECT_EQ(terms[0].ignore, -1);
  EXPECT_EQ(terms[0].reduction, Reduction::mean);
  EXPECT_EQ(terms[1].info->name, "focal");
  EXPECT_EQ(terms[1].factor, 2);
  EXPECT_EQ(terms[1].operands.at("target"), "a, b");
  EXPECT_EQ(terms[1].options, (std::vector<double>{0.5, 2}));
  EXPECT_EQ(terms[1].reduction, Reduction::sum);
  EXPECT_EQ(parse_loss("mse()").size(), 1U);
}

TEST(LossText, NamesTheNearestWord) {
  const auto refused = [](const char* text) { return diagnostic_of([&] { parse_loss(text); }); };
  EXPECT_EQ(refused("mze"), errors::loss_unknown("mze", ", did you mean 'mse'?"));
  EXPECT_EQ(refused("focal(alfa=1)"), errors::loss_option_unknown("focal", "alfa", ", did you mean 'alpha'?"));
  EXPECT_EQ(refused("focal(alpha=x)"), errors::loss_option_value("focal", "alpha", "x", "a number"));
  EXPECT_EQ(refused("mse(output=)"), errors::loss_option_value("mse", "output", "", "a name"));
  EXPECT_EQ(refused("mse(reduction=none)"), errors::loss_option_value("mse", "reduction", "none", "mean or sum"));
  EXPECT_EQ(refused("mse(reduction=men)"), errors::loss_reduction_unknown("men"));
  EXPECT_EQ(refused("huber(delta=0)").entry->name, "number_out_of_range");
}

TEST(LossText, NamesThePlaceOfAMistake) {
  const auto refused = [](const char* text) { return diagnostic_of([&] { parse_loss(text); }); };
  EXPECT_EQ(refused("mse +"), errors::loss_text_malformed("\"mse +\"", 6, "the end", "the name of a loss"));
  EXPECT_EQ(refused("mse mse"),
            errors::loss_unknown(
                "mse mse", "; there are mse, l1, smooth_l1, huber, bce_with_logits, focal, iou, giou and 7 more"));
  EXPECT_EQ(refused("mse) "), errors::loss_text_malformed("\"mse) \"", 4, "\")\"", "'+' or the end"));
  EXPECT_EQ(refused("mse * x"), errors::loss_text_malformed("\"mse * x\"", 7, "\"x\"", "a factor above 0"));
  EXPECT_EQ(refused("2 mse"), errors::loss_text_malformed("\"2 mse\"", 1, "\"2\"", "a factor above 0"));
  EXPECT_EQ(refused("2"), errors::loss_text_malformed("\"2\"", 2, "the end", "'*'"));
  EXPECT_EQ(refused("mse(output)"), errors::loss_text_malformed("\"mse(output)\"", 11, "\")\"", "KEY=VALUE"));
  EXPECT_EQ(refused("mse(ignore=1"), errors::loss_text_malformed("\"mse(ignore=1\"", 13, "the end", "',' or ')'"));
  EXPECT_EQ(refused("mse(output=\"a"),
            errors::loss_text_malformed(R"("mse(output=\"a")", 13, "\"a\"", "a closing quotation mark"));
}

const Type kRows{DType::f32, {4, 3}};

std::vector<std::string> arguments_of(const char* text, const Ports& ports) {
  const Model network = loss_network(parse_loss(text), ports);
  EXPECT_EQ(network.graph.outputs().front().type(), (Type{DType::f32, {1}}));
  std::vector<std::string> names;
  for (const Value argument : network.graph.arguments()) names.push_back(argument.name());
  return names;
}

TEST(LossNetwork, FindsOutputsAndTargets) {
  using Names = std::vector<std::string>;
  const Ports one{{{"y", kRows}}, {{"only", kRows}}};
  EXPECT_EQ(arguments_of("mse", one), (Names{"output.y", "target.only"}));
  const Ports two{{{"a", kRows}, {"b", kRows}}, {{"b", kRows}, {"target", kRows}, {"w", {DType::f32, {4, 1}}}}};
  EXPECT_EQ(arguments_of("mse", two), (Names{"output.a", "target.target"}));
  EXPECT_EQ(arguments_of("mse(output=b, target=b)", two), (Names{"output.b", "target.b"}));
  EXPECT_EQ(arguments_of("mse + l1(weight=w) * 2", two), (Names{"output.a", "target.target", "target.w"}));
  EXPECT_EQ(arguments_of("cosine_embedding(target=w)", {two.outputs, {{"w", {DType::f32, {4}}}}}),
            (Names{"output.a", "output.b", "target.w"}));
  const Ports named{{{"a", kRows}, {"b", kRows}}, {{"a", kRows}, {"b", kRows}}};
  EXPECT_EQ(arguments_of("mse + mse(output=b)", named), (Names{"output.a", "target.a", "output.b", "target.b"}));
}

TEST(LossNetwork, RefusesNamesThatDoNotExist) {
  const Ports ports{{{"probs", kRows}, {"boxes", kRows}}, {{"one", kRows}, {"two", kRows}}};
  const auto refused = [&](const char* text) { return diagnostic_of([&] { loss_network(parse_loss(text), ports); }); };
  EXPECT_EQ(refused("mse(output=prob)"),
            errors::loss_value_unknown("mse", "output", "'prob', did you mean 'probs'?", "an output of the network"));
  EXPECT_EQ(refused("mse(target=onn)"),
            errors::loss_value_unknown("mse", "target", "'onn', did you mean 'one'?", "a target of the data"));
  EXPECT_EQ(refused("mse"),
            errors::loss_value_unknown("mse", "target", "one, two", "'target' or 'probs' in the data, or target=NAME"));
  EXPECT_EQ(refused("triplet_margin"),
            errors::loss_value_unknown("triplet_margin", "negative", "none", "3 outputs of the network"));
}

}  // namespace
}  // namespace halfstep::losses
