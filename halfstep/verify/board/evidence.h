// Evidence about the first value that differs, and hypotheses about the cause.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/verify/board/manifest.h"
#include "halfstep/verify/board/rerun.h"

namespace halfstep::board {

/// Numbers in the order [n, c, h, w].
using Numbers = std::vector<double>;

/// Marks elements for which a hypothesis makes no prediction.
inline constexpr double kUnsaid = std::numeric_limits<double>::quiet_NaN();

Numbers numbers_of(const Tensor& tensor);

/// All NaNs are equal.
inline bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Some samples of a value that differs.
struct Evidence {
  Entry entry;                   ///< description by the expected side
  ImageDims dims;                ///< dimensions of these samples
  Numbers expected;              ///< numbers of the expected side
  std::vector<std::byte> cells;  ///< bytes of the other side, as in its file
  Layout layout;                 ///< claimed layout of the cells
  DType type = DType::u8;        ///< claimed element type of the cells
  Numbers found;                 ///< cells decoded with layout and type, empty if the size does not match
  std::optional<Rerun> rerun;    ///< the layer, with its inputs from the expected side
  std::optional<Sums> sums;      ///< sums of the layer, if it accumulates
  ThreadPool* pool = nullptr;

  int64_t at(int64_t n, int64_t c, int64_t h, int64_t w) const { return ((n * dims.c + c) * dims.h + h) * dims.w + w; }
  size_t size() const { return expected.size(); }
  bool has_found() const { return found.size() == expected.size() && !found.empty(); }
  /// Smallest and largest code of the value's format.
  double lowest() const;
  double highest() const;
  /// Whether only samples, and no layers, precede the value.
  bool is_input() const;
  double zero_point() const { return entry.codes ? static_cast<double>(entry.codes->zero_point) : 0; }
};

/// The strength of the evidence for a guess.
enum class Proof {
  exact,   ///< the hypothesis reproduces every element of the other side
  place,   ///< only the positions of the differences support it
  near,    ///< the hypothesis reproduces every element to within one code
  partial  ///< the hypothesis explains most of the differences
};

/// A possible cause, and the differences that it does not explain.
struct Guess {
  std::string name;      ///< name of its hypothesis
  std::string sentence;  ///< for example "written as NHWC, expected NCHW"
  Proof proof = Proof::exact;
  int64_t differing = 0;  ///< number of elements that it does not explain
  int64_t compared = 0;   ///< number of elements for which it makes a prediction
  double left = 0;        ///< share of the differing elements that it does not explain
};

/// A possible cause of errors on a board. `consider` adds the variants that may explain the evidence.
struct Hypothesis {
  const char* name;
  void (*consider)(const Evidence& evidence, class Verdicts& verdicts);
};

/// Collects guesses.
class Verdicts {
 public:
  explicit Verdicts(const Evidence& evidence);

  /// Compares a prediction with the numbers of the other side.
  void predict(const std::string& sentence, const Numbers& prediction);
  /// Compares a prediction, where a difference of one code counts as explained.
  void predict_nearly(const std::string& sentence, const Numbers& prediction);
  /// Compares cells that were decoded in another way with the expected numbers.
  void reading(const std::string& sentence, const Numbers& read);
  /// Adds a guess that only the positions of differences support. `differing`: differences at other positions.
  void place(const std::string& sentence, int64_t differing, int64_t compared);

  void begin(const Hypothesis& hypothesis) { name_ = hypothesis.name; }
  bool proved() const;
  int64_t differing() const { return differing_; }
  /// The best guesses first. Omits guesses that explain less than half of the differences.
  std::vector<Guess> best(size_t most) const;

 private:
  void add(const std::string& sentence, const Numbers& a, const Numbers& b, bool nearly = false);

  const Evidence& evidence_;
  int64_t differing_ = 0;
  std::string name_;
  std::vector<Guess> guesses_;
};

/// Considers a hypothesis about numbers, if the cells of the other side can be decoded.
template <void (*consider)(const Evidence&, Verdicts&)>
void of_found(const Evidence& evidence, Verdicts& verdicts) {
  if (evidence.has_found()) consider(evidence, verdicts);
}

// Tables of hypotheses, simplest first. A new hypothesis only needs a row.
const std::vector<Hypothesis>& readings();  ///< equal codes in another layout
const std::vector<Hypothesis>& inputs();    ///< samples that were preprocessed differently
const std::vector<Hypothesis>& reruns();    ///< the layer computed in another way
const std::vector<Hypothesis>& moves();     ///< codes derived from the expected codes
const std::vector<Hypothesis>& places();    ///< hypotheses that only use the positions of differences

/// The most likely causes, best first. Empty if no hypothesis explains the differences.
std::vector<Guess> diagnose(const Evidence& evidence);

}  // namespace halfstep::board
