// Compares two sides value by value: the first value that differs, the position and size of the difference, and its
// most likely cause.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/verify/board/evidence.h"
#include "halfstep/verify/board/options.h"
#include "halfstep/verify/board/side.h"

namespace halfstep::board {

enum class State {
  equal,
  differs,
  other_size,  ///< the file has another size than its shape and layout require
  missing,     ///< only the first side has the value
  extra        ///< only the second side has the value
};
std::string_view name(State state);

/// An element that differs between two sides.
struct Place {
  Dims position;  ///< on the axes of the network
  double first = 0, second = 0;
  int64_t sample = 0;
  /// Flat indices in files of the usual layouts: NCHW, NHWC, NDHWC32, and the byte in NHWC with two codes in each byte.
  std::vector<std::pair<std::string, int64_t>> indices;
};

struct ValueComparison {
  std::string name, layer, op, what;
  std::string second_name;  ///< set if the second side has another name for it
  State state = State::equal;
  int64_t elements = 0, differing = 0;
  double largest = 0;  ///< largest difference between numbers
  double sqnr_db = 0;  ///< SQNR of the first side's values in dB, infinite without differences
  std::optional<Place> place;
};

/// Share of differing elements by pixel and by channel, over all samples.
struct HeatMap {
  int64_t rows = 0, columns = 0;
  std::vector<double> share;     ///< [rows, columns]: share of the elements at this pixel that differ
  std::vector<double> channels;  ///< share of differing elements by channel
};

struct Comparison {
  std::string first, second, network;
  std::vector<ValueComparison> values;  ///< in execution order
  std::optional<size_t> differing;      ///< index of the first value whose elements or size differ
  std::vector<Guess> guesses;           ///< likely causes of its difference, best first
  std::string undiagnosed;              ///< reason why some hypotheses were not tried, or ""
  HeatMap heat;                         ///< heat map of that value
  std::vector<std::string> notes;

  bool equal() const;
};

/// Tolerance of float values relative to the first side. Codes must be equal.
struct RealTolerance : ToleranceFields {
  bool holds(double first, double second) const { return std::abs(first - second) <= atol + rtol * std::abs(first); }
};

/// Compares the values of `first` in execution order. If only `second` knows the network, its order is used. Throws if
/// the two sides have no value in common.
Comparison compare(Side first, Side second, ThreadPool& pool, const RealTolerance& tolerance = {},
                   const ProgressCallback& progress = {});

}  // namespace halfstep::board
