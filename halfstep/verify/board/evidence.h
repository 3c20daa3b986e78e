// What is known of the first value that differs, and what may be wrong with it.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/verify/board/manifest.h"
#include "halfstep/verify/board/rerun.h"

namespace halfstep::board {

/// Numbers of images, [n, c, h, w].
using Numbers = std::vector<double>;

/// Stands in a prediction for what it does not say.
inline constexpr double kUnsaid = std::numeric_limits<double>::quiet_NaN();

Numbers numbers_of(const Tensor& tensor);

/// Any NaN is any other.
inline bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Some samples of a value that differs.
struct Evidence {
  Entry entry;                   ///< as the expected side has it
  ImageDims dims;                ///< of these samples
  Numbers expected;              ///< what the expected side has
  std::vector<std::byte> cells;  ///< what the other side has, as it lies in its file
  Layout layout;                 ///< in which that is said to be
  DType type = DType::u8;        ///< of its elements
  Numbers found;                 ///< the cells so read; empty where they do not fit
  std::optional<Rerun> rerun;    ///< the layer on the codes that the expected side gives it
  std::optional<Sums> sums;      ///< of that, where it adds up
  ThreadPool* pool = nullptr;

  int64_t at(int64_t n, int64_t c, int64_t h, int64_t w) const { return ((n * dims.c + c) * dims.h + h) * dims.w + w; }
  size_t size() const { return expected.size(); }
  bool has_found() const { return found.size() == expected.size() && !found.empty(); }
  /// Codes that the type of the value's codes can have.
  double lowest() const;
  double highest() const;
  /// Whether nothing is in front of it but samples.
  bool is_input() const;
  double zero_point() const { return entry.codes ? static_cast<double>(entry.codes->zero_point) : 0; }
};

/// How sure a guess is.
enum class Proof {
  exact,   ///< applied, it gives every element that the other side has
  place,   ///< the places of what differs say it
  near,    ///< applied, it gives every element but for a code up or down
  partial  ///< applied, it explains most of what differs
};

/// What may be wrong, and what remains when it is put right.
struct Guess {
  std::string name;      ///< of its hypothesis
  std::string sentence;  ///< "written as NHWC, expected NCHW"
  Proof proof = Proof::exact;
  int64_t differing = 0;  ///< elements that it does not explain
  int64_t compared = 0;   ///< elements that it says something of
  double left = 0;        ///< share of what differed that it does not explain
};

/// A way in which a board goes wrong: adds what of it can explain the evidence.
struct Hypothesis {
  const char* name;
  void (*consider)(const Evidence& evidence, class Verdicts& verdicts);
};

/// Collects guesses.
class Verdicts {
 public:
  explicit Verdicts(const Evidence& evidence);

  /// Holds a prediction of what the other side has against it.
  void predict(const std::string& sentence, const Numbers& prediction);
  /// The same, where a code up or down counts as explained.
  void predict_nearly(const std::string& sentence, const Numbers& prediction);
  /// The same of cells that were read in another way, which should give what is expected.
  void reading(const std::string& sentence, const Numbers& read);
  /// What the places say; `differing` of those that differ lie elsewhere.
  void place(const std::string& sentence, int64_t differing, int64_t compared);

  void begin(const Hypothesis& hypothesis) { name_ = hypothesis.name; }
  bool proved() const;
  int64_t differing() const { return differing_; }
  /// The best first; what explains less than half of what differs is left out.
  std::vector<Guess> best(size_t most) const;

 private:
  void add(const std::string& sentence, const Numbers& a, const Numbers& b, bool nearly = false);

  const Evidence& evidence_;
  int64_t differing_ = 0;
  std::string name_;
  std::vector<Guess> guesses_;
};

/// A hypothesis about numbers, where what the other side has can be read as some.
template <void (*consider)(const Evidence&, Verdicts&)>
void of_found(const Evidence& evidence, Verdicts& verdicts) {
  if (evidence.has_found()) consider(evidence, verdicts);
}

// The tables of hypotheses, from the simplest on. A row is all that another one needs.
const std::vector<Hypothesis>& readings();  ///< the same codes, laid out in another way
const std::vector<Hypothesis>& inputs();    ///< samples that were made otherwise
const std::vector<Hypothesis>& reruns();    ///< the layer, computed in another way
const std::vector<Hypothesis>& moves();     ///< codes made of the codes
const std::vector<Hypothesis>& places();    ///< what only the places of the differences show

/// What is most likely wrong, the best guess first; none where nothing explains it.
std::vector<Guess> diagnose(const Evidence& evidence);

}  // namespace halfstep::board
