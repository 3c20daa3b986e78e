#include "halfstep/core/base/diagnostics/nearest.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace halfstep {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

const std::string* nearest_word(std::string_view word, std::span<const std::string> candidates) {
  constexpr size_t kLongestWord = 64;  // bounds the time spent on hostile input
  if (word.empty() || word.size() > kLongestWord) return nullptr;
  const std::string* best = nullptr;
  // Upper bound: one more than the allowed distance. At least one letter must match.
  size_t best_distance = std::min(std::max<size_t>(2, word.size() / 3), word.size() - 1) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string* best = nearest_word(word, candidates);
  return best == nullptr ? std::string() : ", did you mean '" + *best + "'?";
}

std::string known_names(std::string_view word, std::span<const std::string> candidates) {
  constexpr size_t kShown = 8;
  if (candidates.empty() || nearest_word(word, candidates) != nullptr) return did_you_mean(word, candidates);
  const auto shown = candidates.first(std::min(kShown, candidates.size()));
  const std::string more =
      candidates.size() > kShown ? fmt::format(" and {} more", candidates.size() - kShown) : std::string();
  return fmt::format("; there {} {}{}", candidates.size() == 1 ? "is" : "are", fmt::join(shown, ", "), more);
}

}  // namespace halfstep
