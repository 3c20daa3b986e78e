// Two sides value by value: which differs first, where, how much, and what is most likely wrong.
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
  other_size,  ///< the bytes are not those of its extents in its layout
  missing,     ///< only the first side has it
  extra        ///< only the second side has it
};
std::string_view name(State state);

/// An element where two sides differ.
struct Place {
  Dims position;  ///< in the network's axes
  double first = 0, second = 0;
  int64_t sample = 0;
  /// Its flat index in files of the usual layouts: NCHW, NHWC, NDHWC32, the byte of NHWC with two codes in one.
  std::vector<std::pair<std::string, int64_t>> indices;
};

struct ValueComparison {
  std::string name, layer, op, what;
  std::string second_name;  ///< where the second side calls it otherwise
  State state = State::equal;
  int64_t elements = 0, differing = 0;
  double largest = 0;  ///< of the differences between numbers
  double sqnr_db = 0;  ///< of the first side's numbers to the differences; infinite where nothing differs
  std::optional<Place> place;
};

/// How much of each pixel differs, all samples and channels together.
struct HeatMap {
  int64_t rows = 0, columns = 0;
  std::vector<double> share;     ///< [rows, columns]: of the elements there, how many differ
  std::vector<double> channels;  ///< by channel
};

struct Comparison {
  std::string first, second, network;
  std::vector<ValueComparison> values;  ///< in the order of execution
  std::optional<size_t> differing;      ///< the first value that differs, or whose size is another
  std::vector<Guess> guesses;           ///< what is wrong with it, the best guess first
  std::string undiagnosed;              ///< why some hypotheses were not tried; ""
  HeatMap heat;                         ///< of that value
  std::vector<std::string> notes;

  bool equal() const;
};

/// How far reals may be from those of the first side; codes are equal or not.
struct RealTolerance : ToleranceFields {
  bool holds(double first, double second) const { return std::abs(first - second) <= atol + rtol * std::abs(first); }
};

/// Walks through the values of `first`, or of `second` where only that one knows the network, in the order of
/// execution. Throws where the two have nothing in common.
Comparison compare(Side first, Side second, ThreadPool& pool, const RealTolerance& tolerance = {},
                   const ProgressCallback& progress = {});

}  // namespace halfstep::board
