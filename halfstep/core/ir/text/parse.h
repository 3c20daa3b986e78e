// Parser of the text form of a graph.
//
//   graph digits(x: f32[?, 1, 8, 8]) {
//     param @conv1.w: f32[32, 1, 3, 3]              # or state, const
//     conv1 = conv2d(x=x, w=@conv1.w) {pad: [1, 1, 1, 1]} at "digits.py":12
//     cat = concat(x=[conv1, conv1]) {axis: 1}
//     r = if(cond=c, captured=[cat]) region then(a: f32[?, 64, 8, 8]) { return a } region else(b: f32[?, 64, 8, 8]) {
//       d = relu(x=b)
//       return d
//     }
//     return r, activations = cat
//   }
//
// A region sees its arguments, its own values, and tensors. Values of the enclosing block must be captured as operands
// of the operation that holds the region (core/ir/flow.h).
//
// A name is a word [A-Za-z_/][A-Za-z0-9_./-]* other than param, state, const, return, region, at. Or it is any text in
// quotes, with the escapes \" \\ \n \t \xNN. Line breaks have no semantics. A comment runs from # to the end of the
// line. The first operand may omit `PORT=`. `?` is an unknown extent. An integer is accepted for a float.
#pragma once

#include <string_view>

#include "halfstep/core/ir/graph.h"

namespace halfstep {

/// Limits of the text form. They bound memory and time on hostile input. A text beyond a limit is an error.
inline constexpr size_t kMaxTextBytes = size_t{16} << 20;
inline constexpr int64_t kMaxStatements = int64_t{1} << 18;
inline constexpr int kMaxRegionDepth = 128;
inline constexpr size_t kMaxRank = 16;

struct ParseOptions {
  bool locations = true;  ///< true: an operation without `at` gets its position in the text; false: no location
};

/// Parses the single graph in `text`. `file` names it in locations and messages. Throws Error: "digits.ir:12: found
/// 'x', expected y".
Graph parse(std::string_view text, const std::string& file = "text", const ParseOptions& options = {});

}  // namespace halfstep
