// What a network may cost.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::allocation {

enum class Currency {
  latency,  ///< milliseconds
  size,     ///< bytes that the integer program stores
  bitops    ///< multiplications of a sample, each times the widths of both factors
};
std::string_view name(Currency currency);
/// "1.25 ms", "142.3 kB", "0.61 G".
std::string in_words(Currency currency, double amount);

struct Budget {
  Currency currency = Currency::size;
  double most = 0;
};

/// "latency<=3ms, size<=200kB, bitops<=1.5G": one or several. Units are s, ms, us; B, kB, MB, KiB, MiB; nothing, k, M,
/// G, T. Throws for anything else, and for a currency that comes twice.
std::vector<Budget> parse_budgets(std::string_view text);

/// What an assignment of widths costs.
struct Costs {
  std::optional<double> latency = {};  ///< absent where nobody measured
  double size = 0, bitops = 0;

  double of(Currency currency) const;
};

}  // namespace halfstep::allocation
