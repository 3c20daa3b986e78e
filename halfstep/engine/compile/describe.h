// Prints a program as text for `halfstep inspect`, in program and operand order.
#pragma once

#include <string>

#include "halfstep/core/ir/graph.h"
#include "halfstep/engine/runtime/program.h"

namespace halfstep {

/// Operations with the types of their operands and results, by port.
std::string describe_network(const Graph& graph);

/// Number, device, kernel, and the values that each instruction reads and writes.
std::string describe_instructions(const runtime::ProgramSpec& program);

/// Type, device, memory, bytes and lifetime of every value. Also the planned peak and the sum without memory reuse.
std::string describe_values(const runtime::ProgramSpec& program);

/// The instructions that each instruction waits for: producers of its operands, and users of memory it overwrites.
std::string describe_dependencies(const runtime::ProgramSpec& program);

/// The kernel of each instruction, and why earlier candidates refused.
std::string describe_kernels(const runtime::ProgramSpec& program);

/// All of the above under headings; kernels only with `explain`.
std::string describe(const Graph& graph, const runtime::ProgramSpec& program, bool explain = false);

}  // namespace halfstep
