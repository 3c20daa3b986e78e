#include <algorithm>

#include "halfstep/core/base/element_values.h"
#include "halfstep/verify/board/evidence.h"

namespace halfstep::board {
namespace {

constexpr double kMostLeft = 0.5;  ///< largest unexplained share of a guess
constexpr size_t kMostGuesses = 4;

}  // namespace

Numbers numbers_of(const Tensor& tensor) {
  Numbers numbers(static_cast<size_t>(tensor.size()));
  const auto from = [&](auto elements) { std::copy(elements.begin(), elements.end(), numbers.begin()); };
  switch (tensor.dtype()) {
    case DType::u8: from(tensor.data<uint8_t>()); break;
    case DType::i8: from(tensor.data<int8_t>()); break;
    case DType::f32: from(tensor.data<float>()); break;
    default:
      for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = element(tensor, static_cast<int64_t>(i));
  }
  return numbers;
}

double Evidence::lowest() const { return entry.codes ? static_cast<double>(entry.codes->code_min) : -HUGE_VAL; }
double Evidence::highest() const { return entry.codes ? static_cast<double>(entry.codes->code_max) : HUGE_VAL; }

Verdicts::Verdicts(const Evidence& evidence) : evidence_(evidence), differing_(static_cast<int64_t>(evidence.size())) {
  if (!evidence.has_found()) return;
  differing_ = 0;
  for (size_t i = 0; i < evidence.size(); ++i)
    differing_ += same_number(evidence.expected[i], evidence.found[i]) ? 0 : 1;
}

bool Evidence::is_input() const {
  const bool reads_floats = rerun && !rerun->operands.empty() && rerun->operands.front().defined() &&
                            is_float(rerun->operands.front().dtype());
  return reads_floats || entry.op.empty();
}

void Verdicts::add(const std::string& sentence, const Numbers& a, const Numbers& b, bool nearly) {
  if (a.size() != b.size() || a.empty()) return;
  Guess guess{name_, sentence, Proof::exact, 0, 0, 0};
  int64_t unsaid = 0;
  const bool knows = evidence_.has_found();
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && !std::isnan(b[i])) {
      unsaid += knows && !same_number(evidence_.expected[i], evidence_.found[i]) ? 1 : 0;
      continue;
    }
    ++guess.compared;
    guess.differing += same_number(a[i], b[i]) || (nearly && std::abs(a[i] - b[i]) <= 1) ? 0 : 1;
  }
  guess.left = static_cast<double>(guess.differing + unsaid) / static_cast<double>(std::max<int64_t>(1, differing_));
  if (guess.left >= kMostLeft) return;
  if (nearly) guess.proof = Proof::near;
  if (guess.differing > 0) guess.proof = Proof::partial;
  guesses_.push_back(std::move(guess));
}

void Verdicts::predict(const std::string& sentence, const Numbers& prediction) {
  add(sentence, prediction, evidence_.found);
}

void Verdicts::predict_nearly(const std::string& sentence, const Numbers& prediction) {
  add(sentence, prediction, evidence_.found, true);
}

void Verdicts::reading(const std::string& sentence, const Numbers& read) { add(sentence, read, evidence_.expected); }

void Verdicts::place(const std::string& sentence, int64_t differing, int64_t compared) {
  const double left = static_cast<double>(differing) / static_cast<double>(std::max<int64_t>(1, differing_));
  if (left < kMostLeft) guesses_.push_back({name_, sentence, Proof::place, differing, compared, left});
}

bool Verdicts::proved() const {
  return std::ranges::any_of(guesses_,
                             [](const Guess& guess) { return guess.proof == Proof::exact && guess.left == 0; });
}

std::vector<Guess> Verdicts::best(size_t most) const {
  std::vector<Guess> sorted = guesses_;
  const auto rank = [](const Guess& guess) {
    constexpr double kNearly = 0.05;
    const bool nearly = guess.proof == Proof::partial && guess.left < kNearly;
    return std::pair(nearly ? 0.5 : static_cast<double>(guess.proof), guess.left);
  };
  std::ranges::stable_sort(sorted, {}, rank);
  std::vector<Guess> named;
  for (const Guess& guess : sorted) {
    const bool known = std::ranges::any_of(named, [&](const Guess& other) { return other.name == guess.name; });
    if (!known && named.size() < most) named.push_back(guess);
  }
  return named;
}

std::vector<Guess> diagnose(const Evidence& evidence) {
  Verdicts verdicts(evidence);
  if (verdicts.differing() == 0) return {};
  for (const auto* table : {&readings(), &inputs(), &moves(), &reruns(), &places()}) {
    for (const Hypothesis& hypothesis : *table) {
      verdicts.begin(hypothesis);
      hypothesis.consider(evidence, verdicts);
    }
    if (verdicts.proved()) break;
  }
  return verdicts.best(kMostGuesses);
}

}  // namespace halfstep::board
