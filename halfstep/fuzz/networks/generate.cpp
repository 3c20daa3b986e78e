#include "halfstep/fuzz/networks/generate.h"

#include <algorithm>

#include "halfstep/core/base/status.h"
#include "halfstep/fuzz/errors.h"
#include "halfstep/fuzz/networks/node_recipes.h"

namespace halfstep::fuzz {
namespace {

constexpr uint64_t kPlainOf = 5;  ///< one in this many is not plain
constexpr size_t kPlainRecipes = 2, kWildRecipes = 6;
constexpr int64_t kNewestOpset = 26;

const std::vector<int64_t> kOpsets = {7, 9, 10, 11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 19, 20, 21, 21, 22, 23, 24, 26};

bool is_plain(uint64_t seed) { return seed % kPlainOf != kPlainOf - 1; }

Recipes chosen(bool on_codes) {
  Recipes recipes;
  for (const Recipe& recipe : all_recipes()) {
    if (!on_codes || recipe.home != Home::floats) recipes.push_back(recipe);
  }
  return recipes;
}

const Recipes& recipes_of(bool plain) {
  static const Recipes kOnCodes = chosen(true), kEvery = chosen(false);
  return plain ? kOnCodes : kEvery;
}

/// Operators that this network should have, in turn over the seeds.
Recipes recipes_for(uint64_t seed) {
  const bool plain = is_plain(seed);
  const Recipes& recipes = recipes_of(plain);
  const size_t count = plain ? kPlainRecipes : kWildRecipes;
  const uint64_t turn = plain ? seed - seed / kPlainOf : seed / kPlainOf;
  Recipes chosen;
  for (size_t i = 0; i < count; ++i) chosen.push_back(recipes[(turn * count + i) % recipes.size()]);
  std::ranges::stable_sort(chosen, {}, &Recipe::until);  // the others fit many versions
  return chosen;
}

/// An opset version that all chosen recipes support. Recipes without a common version are removed.
int64_t opset_for(Random& random, Recipes& chosen) {
  int64_t since = 7, until = kNewestOpset;
  std::erase_if(chosen, [&](const Recipe& recipe) {
    if (std::max(since, recipe.since) > std::min(until, recipe.until)) return true;
    since = std::max(since, recipe.since), until = std::min(until, recipe.until);
    return false;
  });
  std::vector<int64_t> possible;
  for (const int64_t opset : kOpsets) {
    if (opset >= since && opset <= until) possible.push_back(opset);
  }
  return possible.empty() ? since : possible[random.below(possible.size())];
}

Style style_for(Random& random, bool plain, Recipes& chosen) {
  const auto chance = [&](double p) { return random.uniform() < p; };
  Style style;
  style.opset = opset_for(random, chosen);
  style.plain = plain;
  style.simple = plain && chance(0.98);
  style.rows = plain || chance(0.3);
  style.dynamic_batch = chance(0.6);
  style.same_batch = style.rows || chance(0.75);
  style.hostile_names = chance(0.3);
  style.batch = style.dynamic_batch || chance(0.4) ? 1 + static_cast<int64_t>(random.below(3)) : 1;
  style.widest = chance(0.03) ? 64 : 8;
  return style;
}

/// The most frequent operators of real networks.
constexpr std::string_view kUsual[] = {"Conv",
                                       "Conv",
                                       "Gemm",
                                       "MatMul",
                                       "Add",
                                       "Mul",
                                       "Relu",
                                       "MaxPool",
                                       "AveragePool",
                                       "Concat",
                                       "GlobalAveragePool",
                                       "BatchNormalization",
                                       "LeakyRelu",
                                       "Sigmoid",
                                       "Reshape",
                                       "Transpose",
                                       "Split",
                                       "Slice",
                                       "Pad",
                                       "Flatten"};

Recipe pick(Maker& maker) {
  const bool usual = maker.chance(maker.style().plain ? 0.7 : 0.35);
  const Recipes& recipes = recipes_of(maker.style().plain);
  if (!usual) return recipes[static_cast<size_t>(maker.between(0, static_cast<int64_t>(recipes.size()) - 1))];
  const auto op = kUsual[static_cast<size_t>(maker.between(0, std::size(kUsual) - 1))];
  return *std::ranges::find_if(recipes, [&](const Recipe& r) { return r.op == op && r.domain.empty(); });
}

bool make(Maker& maker, const Recipe& recipe) {
  if (maker.opset() < recipe.since || maker.opset() > recipe.until) return false;
  try {
    recipe.make(maker, recipe.op);
    return true;
  } catch (const Unsuited&) {
    return false;
  }
}

bool make_somehow(Maker& maker, const Recipe& recipe) {
  constexpr int kTries = 12;
  for (int i = 0; i < kTries; ++i) {
    if (make(maker, recipe)) return true;
  }
  return false;
}

/// Adds the first input of the network.
void add_first_input(Maker& maker) {
  const int64_t kind = maker.between(0, 5);
  if (kind == 0 && !maker.style().plain) return;
  const Dims extents = maker.some_dims(4);
  Dims dims = {maker.style().batch, extents[1], extents[2], extents[3]};
  if (kind == 4) dims = {maker.style().batch, maker.between(1, 40)};
  if (kind == 5) dims = {maker.style().batch, extents[1], extents[2]};
  const double low = maker.chance(0.3) ? 0 : -2;
  maker.input(DType::f32, dims, low, maker.chance(0.1) ? 100 : 2);
}

/// Adds a layer with weights, because a network without weights cannot be quantized.
void add_layer(Maker& maker) {
  const auto op = maker.one_of<std::string>({"Conv", maker.style().rows ? "Conv" : "MatMul", "Gemm", "MatMul"});
  for (const char* title : {op.c_str(), "Conv", "MatMul", "Gemm"}) {
    if (make_somehow(maker, *std::ranges::find(all_recipes(), title, &Recipe::op))) return;
  }
}

std::optional<Network> attempt(uint64_t seed, uint64_t number) {
  Random random(seed, 100 + number);
  Recipes chosen = recipes_for(seed);
  const bool plain = is_plain(seed);
  Style style = style_for(random, plain, chosen);
  if (number > 0 && !plain) style.rows = false, style.same_batch = number % 2 == 1;
  Maker maker(seed * 64 + number, style);
  add_first_input(maker);
  if (plain || maker.chance(0.7)) add_layer(maker);
  bool has_all = true;
  for (const Recipe& recipe : chosen) {
    for (int64_t before = maker.between(0, 3); before > 0; --before) make(maker, pick(maker));
    has_all = make_somehow(maker, recipe) && has_all;
  }
  for (int64_t after = maker.between(0, 4); after > 0; --after) make(maker, pick(maker));
  constexpr uint64_t kPatience = 4;
  if (!has_all && number < kPatience) return std::nullopt;
  try {
    const int64_t batches = (style.batch == 1 ? 6 : 3) + static_cast<int64_t>(random.below(3));
    return maker.finish(batches * style.batch);
  } catch (const Unsuited&) {
    return std::nullopt;
  }
}

}  // namespace

Network generate(uint64_t seed) {
  constexpr uint64_t kAttempts = 64;
  for (uint64_t number = 0; number < kAttempts; ++number) {
    if (auto network = attempt(seed, number)) return std::move(*network);
  }
  fail(errors::seed_without_network(seed));
}

}  // namespace halfstep::fuzz
