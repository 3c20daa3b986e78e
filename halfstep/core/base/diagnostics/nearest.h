// Spelling suggestions for error messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace halfstep {

/// The candidate at the smallest edit distance (at most a third of the word, or two letters); nullptr for none.
const std::string* nearest_word(std::string_view word, std::span<const std::string> candidates);

/// ", did you mean 'NAME'?" for the nearest word, else "".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// The same, or "; there are A, B, C and 7 more" where none is near.
std::string known_names(std::string_view word, std::span<const std::string> candidates);

}  // namespace halfstep
