// Spelling suggestions for error messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace halfstep {

/// Returns the candidate with the smallest edit distance. The distance is at most a third of the word's length, or 2
/// letters if that is more. Returns nullptr if there is none.
const std::string* nearest_word(std::string_view word, std::span<const std::string> candidates);

/// Returns ", did you mean 'NAME'?" for the nearest word, or "".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// Returns the suggestion of did_you_mean. Without a near name it returns "; there are A, B, C and 7 more".
std::string known_names(std::string_view word, std::span<const std::string> candidates);

}  // namespace halfstep
