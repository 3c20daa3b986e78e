// Spelling suggestions for error messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace halfstep {

/// ", did you mean 'NAME'?" for the candidate at the smallest edit distance (at most a third of the word, or two
/// letters), else "".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace halfstep
