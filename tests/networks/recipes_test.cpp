#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "halfstep/fuzz/networks/generate.h"
#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

/// An importable operator in no network would never be tested.
TEST(Recipes, EveryImportableOperatorHasOne) {
  std::set<std::string> titles;
  for (const Recipe& recipe : all_recipes()) titles.insert(recipe.title());
  for (const std::string& op : importable_operators()) EXPECT_TRUE(titles.contains(op)) << op << " has no recipe";
}

TEST(Recipes, OfOperatorsThatCanBeImported) {
  const auto operators = importable_operators();
  for (const Recipe& recipe : all_recipes())
    EXPECT_TRUE(std::ranges::binary_search(operators, recipe.title())) << recipe.title() << " cannot be imported";
}

TEST(Generate, SameSeedSameNetwork) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    const Network a = generate(seed), b = generate(seed);
    EXPECT_EQ(a.bytes(), b.bytes()) << seed;
    ASSERT_EQ(a.inputs.size(), b.inputs.size());
    for (const auto& [name, tensor] : a.inputs) EXPECT_TRUE(tensor.same_bits(b.inputs.at(name))) << seed << " " << name;
    EXPECT_EQ(random_target(seed, a, "").text(), random_target(seed, b, "").text());
  }
}

/// The quotas of 10,000 networks, on a fifth of them: every operator in 50, those on codes in 200.
TEST(Generate, EveryOperatorComesOften) {
  constexpr uint64_t kSeeds = 2000;
  std::map<std::string, int64_t> counts;
  int64_t plain = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Network network = generate(seed);
    for (const std::string& title : operators_of(network.model.graph())) ++counts[title];
    plain += network.plain ? 1 : 0;
  }
  for (const std::string& op : importable_operators()) EXPECT_GE(counts[op], 10) << op;
  for (const Recipe& recipe : all_recipes()) {
    if (!has_codes(recipe.home)) continue;
    EXPECT_GE(counts[recipe.title()], 40) << recipe.title();
  }
  EXPECT_EQ(plain, 1600);
}

}  // namespace
}  // namespace halfstep::fuzz
