// Writes an integer program as C99 without dependencies.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::formats::c {

/// One sample for the test program: codes of each parameter and of each output in memory order.
struct Case {
  std::vector<Tensor> inputs, outputs;
};

struct COptions {
  std::string name;                          ///< name of the network, a C identifier
  bool hooks = false;                        ///< adds a function that shows every layer
  bool float_fallback = false;               ///< allows operators that stay in float, in C's float32
  std::map<std::string, Dims> extents = {};  ///< extents of arguments with dynamic dimensions other than the samples
};

struct CFile {
  std::string name, text;
};

/// A parameter of NAME_run.
struct CPort {
  std::string name;   ///< name in C
  std::string value;  ///< name of the network's argument or output
  std::string codes;  ///< value that the memory holds, equal to `value` for float
  Type type;          ///< type for one call, in the network's order
  bool is_image = false;
  bool is_codes = false;  ///< codes with scale and zero point
  float scale = 1.0F;
  int32_t zero_point = 0;
};

/// A value that the hook shows.
struct CLayer {
  std::string name;
  Type type;               ///< in the network's order
  bool is_image = false;   ///< shown channels last
  bool is_inside = false;  ///< value in a branch or a loop, shown at each execution
};

struct CProgram {
  std::string name;
  std::vector<CFile> files;  ///< NAME.h and NAME.c
  std::vector<CPort> inputs, outputs;
  std::vector<CLayer> layers;  ///< values that hooks show, in order
  size_t arena_bytes = 0, arena_alignment = 4, weight_bytes = 0, constant_bytes = 0;
  bool uses_floats = false;            ///< NAME_run has float operations
  bool uses_math = false;              ///< needs the C library's functions on floats (-lm)
  bool counts_iterations = false;      ///< has a loop that only its own condition ends
  std::vector<std::string> fallbacks;  ///< layers that stay in float
};

/// Writes a program for one sample at a time if the model accepts any number of samples, otherwise for its fixed
/// number. Throws with every operator that has no form in C, and its remedy.
CProgram c_program(const Model& integer, const COptions& options);

/// Writes NAME_main.c, which runs the samples and compares all outputs. Its exit code reports whether they are equal.
CFile test_program(const CProgram& program, const std::vector<Case>& cases);

/// Writes NAME_driver.c, which reads float values from standard input, runs NAME_quantize and every layer, and writes
/// results to standard output in little-endian byte order. The program must have hooks.
CFile driver_program(const CProgram& program);

/// Convert codes from the network's order to the memory order of the C program, and back.
Tensor to_memory(const Tensor& codes, bool is_image);
Tensor from_memory(const Tensor& codes, bool is_image);

}  // namespace halfstep::formats::c
