// Dumps and their comparison as text, JSON and HTML.
#pragma once

#include <string>

#include "halfstep/verify/board/compare.h"
#include "halfstep/verify/board/manifest.h"

namespace halfstep::report {

/// One line for each value: name, operator, type, layout, bytes and file.
std::string as_text(const board::Manifest& manifest);
std::string as_json(const board::Manifest& manifest);

/// The values that differ, the position of the first difference, and its most likely cause. See
/// docs/guides/debug_board.md.
std::string as_text(const board::Comparison& comparison);
/// One line, for example "equal: 23 values, 104,732 elements, 0 differ".
std::string sentence(const board::Comparison& comparison);
std::string as_json(const board::Comparison& comparison);

/// A self-contained page: all values in one row, and a map of the first one that differs. Names are escaped.
std::string as_html(const board::Comparison& comparison);

}  // namespace halfstep::report
