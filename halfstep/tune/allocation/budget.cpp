#include "halfstep/tune/allocation/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "halfstep/core/base/status.h"
#include "halfstep/tune/allocation/errors.h"

namespace halfstep::allocation {
namespace {

struct Unit {
  Currency currency;
  std::string_view text;
  double factor;
};

/// The first unit of a currency applies to numbers without a unit. The units after it are for messages.
constexpr Unit kUnits[] = {
    {Currency::latency, "ms", 1},  {Currency::latency, "s", 1e3},        {Currency::latency, "us", 1e-3},
    {Currency::size, "B", 1},      {Currency::size, "kB", 1e3},          {Currency::size, "MB", 1e6},
    {Currency::size, "KiB", 1024}, {Currency::size, "MiB", 1024 * 1024}, {Currency::bitops, "", 1},
    {Currency::bitops, "k", 1e3},  {Currency::bitops, "M", 1e6},         {Currency::bitops, "G", 1e9},
    {Currency::bitops, "T", 1e12},
};

constexpr std::string_view kNames[] = {"latency", "size", "bitops"};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Budget parse_budget(std::string_view text) {
  const auto refuse = [&]() -> Budget { fail(errors::budget_malformed(text)); };
  const size_t sign = text.find("<=");
  if (sign == std::string_view::npos) return refuse();
  const std::string_view left = trimmed(text.substr(0, sign)), right = trimmed(text.substr(sign + 2));
  const auto* known = std::ranges::find(kNames, left);
  if (known == std::end(kNames)) return refuse();
  Budget budget{static_cast<Currency>(known - kNames), 0};
  const auto [end, error] = std::from_chars(right.data(), right.data() + right.size(), budget.most);
  if (error != std::errc() || !(budget.most > 0) || !std::isfinite(budget.most)) return refuse();
  const std::string_view unit = trimmed(right.substr(static_cast<size_t>(end - right.data())));
  for (const Unit& one : kUnits) {
    if (one.currency != budget.currency || one.text != unit) continue;
    budget.most *= one.factor;
    return budget;
  }
  return refuse();
}

}  // namespace

std::string_view name(Currency currency) { return kNames[static_cast<size_t>(currency)]; }

std::string in_words(Currency currency, double amount) {
  const auto in = [&](double factor, const char* unit) { return fmt::format("{:.4g} {}", amount / factor, unit); };
  switch (currency) {
    case Currency::latency: return amount < 1 ? in(1e-3, "us") : in(1, "ms");
    case Currency::size: return amount < 1e3 ? in(1, "B") : amount < 1e6 ? in(1e3, "kB") : in(1e6, "MB");
    case Currency::bitops: break;
  }
  return amount < 1e9 ? in(1e6, "M") : in(1e9, "G");
}

std::vector<Budget> parse_budgets(std::string_view text) {
  std::vector<Budget> budgets;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    const Budget budget = parse_budget(trimmed(text.substr(0, comma)));
    if (std::ranges::find(budgets, budget.currency, &Budget::currency) != budgets.end())
      fail(errors::budget_twice(name(budget.currency)));
    budgets.push_back(budget);
    if (comma == text.size()) return budgets;
    text.remove_prefix(comma + 1);
  }
}

double Costs::of(Currency currency) const {
  switch (currency) {
    case Currency::latency: return latency.value_or(std::numeric_limits<double>::quiet_NaN());
    case Currency::size: return size;
    case Currency::bitops: break;
  }
  return bitops;
}

}  // namespace halfstep::allocation
