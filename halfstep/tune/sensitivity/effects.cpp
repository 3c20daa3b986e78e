#include "halfstep/tune/sensitivity/effects.h"

#include <map>
#include <string>

#include "halfstep/tune/sensitivity/variants.h"

namespace halfstep::sensitivity {

std::vector<Effect> effects_of(const FloatNetwork& network, const Trial& trial,
                               const std::function<void(size_t done, size_t steps)>& done) {
  constexpr size_t kVariants = 3;  // for each quantizer
  const auto& places = network.places();
  const Pieces pieces(network);
  std::map<std::string, size_t, std::less<>> numbers;
  for (size_t p = 0; p < places.size(); ++p) numbers.emplace(places[p].name(), p);
  std::vector<Variant> variants;
  for (size_t p = 0; p < places.size(); ++p) {
    const size_t piece = pieces.of(p);
    const std::string& name = places[p].name();
    const auto is_it = [&](const std::string& other) { return other == name; };
    const auto is_other = [&](const std::string& other) { return other != name; };
    const auto is_up_to = [&, p](const std::string& other) { return pieces.is_up_to(numbers.at(other), p); };
    variants.push_back({piece, piece, is_it, false, false});
    variants.push_back({piece, piece, is_up_to, true, false});
    variants.push_back({piece, piece, is_other, true, true});
  }
  const auto outcomes = outcomes_of(pieces, trial, variants, [&](size_t steps, size_t all) {
    if (steps % kVariants == 0) done(steps / kVariants, all / kVariants);
  });
  std::vector<Effect> effects;
  for (size_t i = 0; i < outcomes.size(); i += kVariants)
    effects.push_back({outcomes[i].judged, outcomes[i + 1].judged, outcomes[i + 2].judged});
  return effects;
}

}  // namespace halfstep::sensitivity
