// A program as text, for `halfstep inspect`. Everything in program and operand order.
#pragma once

#include <string>

#include "halfstep/core/ir/graph.h"
#include "halfstep/engine/runtime/program.h"

namespace halfstep {

/// Operations with the types of their operands and results, by port.
std::string describe_network(const Graph& graph);

/// Number, place, kernel, and the values that each instruction reads and writes.
std::string describe_instructions(const runtime::ProgramSpec& program);

/// Type, place, memory, bytes and lifetime of every value, and the planned peak beside the naive sum.
std::string describe_values(const runtime::ProgramSpec& program);

/// What each instruction waits for: results that it reads, and users of memory that it overwrites.
std::string describe_dependencies(const runtime::ProgramSpec& program);

/// The kernel of each instruction, and why the ones before it on the list refused.
std::string describe_kernels(const runtime::ProgramSpec& program);

/// All of the above under headings; kernels only with `explain`.
std::string describe(const Graph& graph, const runtime::ProgramSpec& program, bool explain = false);

}  // namespace halfstep
