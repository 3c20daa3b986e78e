// Dumps and their comparison for people and programs.
#pragma once

#include <string>

#include "halfstep/verify/board/compare.h"
#include "halfstep/verify/board/manifest.h"

namespace halfstep::report {

/// A line for each value: its name, operator, type, layout, bytes and file.
std::string as_text(const board::Manifest& manifest);
std::string as_json(const board::Manifest& manifest);

/// The values that differ, where the first one does, and what is most likely wrong; docs/guides/debug_board.md.
std::string as_text(const board::Comparison& comparison);
/// One line: "equal: 23 values, 104,732 elements, 0 differ".
std::string sentence(const board::Comparison& comparison);
std::string as_json(const board::Comparison& comparison);

/// A page that needs nothing else: a strip of values, and a map of the first that differs. Names are escaped.
std::string as_html(const board::Comparison& comparison);

}  // namespace halfstep::report
