// Budgets for the costs of a network.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::allocation {

enum class Currency {
  latency,  ///< milliseconds
  size,     ///< bytes that the integer program stores
  bitops    ///< multiplications of one sample, each times the bit widths of both factors
};
std::string_view name(Currency currency);
/// For example "1.25 ms", "142.3 kB", "0.61 G".
std::string in_words(Currency currency, double amount);

struct Budget {
  Currency currency = Currency::size;
  double most = 0;
};

/// Parses one or several budgets, for example "latency<=3ms, size<=200kB, bitops<=1.5G". Units are s, ms, us for
/// latency, B, kB, MB, KiB, MiB for size, and none, k, M, G, T for bitops. Throws for any other text, and for a
/// currency that occurs twice.
std::vector<Budget> parse_budgets(std::string_view text);

/// Costs of an assignment of bit widths.
struct Costs {
  std::optional<double> latency = {};  ///< absent if not measured
  double size = 0, bitops = 0;

  double of(Currency currency) const;
};

}  // namespace halfstep::allocation
