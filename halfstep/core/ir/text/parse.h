// The text form of a graph, read.
//
//   graph digits(x: f32[?, 1, 8, 8]) {
//     param @conv1.w: f32[32, 1, 3, 3]              # or state, const
//     conv1 = conv2d(x=x, w=@conv1.w) {pad: [1, 1, 1, 1]} at "digits.py":12
//     cat = concat(x=[conv1, conv1]) {axis: 1}
//     r = if(cond=c, captured=[cat]) region then(a: f32[?, 64, 8, 8]) { return a } region else(b: f32[?, 64, 8, 8]) {
//       d = relu(x=b)
//       return d
//     }
//     return r, features = cat
//   }
//
// A region sees its arguments, what it makes, and tensors; what it needs of the block around it is captured, as an
// operand of the operation that holds it (core/ir/flow.h).
//
// A name is a word [A-Za-z_/][A-Za-z0-9_./-]* other than param, state, const, return, region, at; or any text in
// quotes, with the escapes \" \\ \n \t \xNN. Line breaks mean nothing; a comment runs from # to the end of its line.
// The first operand may stand without `PORT=`. `?` is an unknown extent. An integer may stand for a float.
#pragma once

#include <string_view>

#include "halfstep/core/ir/graph.h"

namespace halfstep {

/// Limits of the text form; a text beyond one is an error. They bound memory and time on hostile input.
inline constexpr size_t kMaxTextBytes = size_t{16} << 20;
inline constexpr int64_t kMaxStatements = int64_t{1} << 18;
inline constexpr int kMaxRegionDepth = 128;
inline constexpr size_t kMaxRank = 16;

struct ParseOptions {
  bool locations = true;  ///< an operation without `at` gets its place in the text; without: no location
};

/// The one graph that `text` holds; `file` names it in locations and messages. Throws Error: "digits.ir:12: found 'x',
/// expected y".
Graph parse(std::string_view text, const std::string& file = "text", const ParseOptions& options = {});

}  // namespace halfstep
