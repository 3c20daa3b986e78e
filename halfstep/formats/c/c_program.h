// An integer program as C99 without dependencies.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::formats::c {

/// One sample for the test program: codes of each parameter, and of each output, as they lie in memory.
struct Case {
  std::vector<Tensor> inputs, outputs;
};

struct COptions {
  std::string name;                          ///< of the network: a C identifier
  bool hooks = false;                        ///< a function that shows every layer
  bool float_islands = false;                ///< operators that stay in float, in C's own float32
  std::map<std::string, Dims> extents = {};  ///< of arguments whose extents but for the samples are open
};

struct CFile {
  std::string name, text;
};

/// A parameter of NAME_run.
struct CPort {
  std::string name;   ///< in C
  std::string value;  ///< of the network: the argument or output
  std::string codes;  ///< the value that it is; the same where it is in float
  Type type;          ///< of one call, in the network's order
  bool is_image = false;
  bool is_codes = false;  ///< of reals, under scale and zero point
  float scale = 1.0F;
  int32_t zero_point = 0;
};

/// A value as the hook shows it.
struct CLayer {
  std::string name;
  Type type;               ///< in the network's order
  bool is_image = false;   ///< shown channels last
  bool is_inside = false;  ///< of a branch or a loop: shown each time that it is made
};

struct CProgram {
  std::string name;
  std::vector<CFile> files;  ///< NAME.h and NAME.c
  std::vector<CPort> inputs, outputs;
  std::vector<CLayer> layers;  ///< what hooks show, in order
  size_t arena_bytes = 0, arena_alignment = 4, weight_bytes = 0, constant_bytes = 0;
  bool uses_floats = false;          ///< NAME_run has float operations
  bool uses_math = false;            ///< it is linked with the C library's functions of reals (-lm)
  bool counts_iterations = false;    ///< it has a loop that only its own condition ends
  std::vector<std::string> islands;  ///< layers that stay in float
};

/// One sample at a time where the program takes any number of them, else as many as it takes. Throws, with every
/// operator and what to do about it, for what has no form in C.
CProgram c_program(const Model& integer, const COptions& options);

/// NAME_main.c: runs the samples and compares all outputs; its exit code says whether they are equal.
CFile test_program(const CProgram& program, const std::vector<Case>& cases);

/// NAME_driver.c: reals from standard input through NAME_quantize and every layer to standard output, in the byte
/// order of little-endian machines. The program must have hooks.
CFile driver_program(const CProgram& program);

/// Codes as a network has them, as they lie in the memory of the C program; and back.
Tensor to_memory(const Tensor& codes, bool is_image);
Tensor from_memory(const Tensor& codes, bool is_image);

}  // namespace halfstep::formats::c
