// Execution of a network on named tensors, and comparison of its results.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/api/settings.h"
#include "halfstep/engine/runtime/program.h"
#include "halfstep/formats/import/import.h"

namespace halfstep::api {

/// An operand or a result of an instruction.
struct TracedValue {
  std::string port, name;  ///< name: "" for a value that is not stored
  Type type;
  Place place;
  runtime::ValueRange range;  ///< values of a result. Operands have none
};

/// One executed instruction with its operands, results and times.
struct TracedInstruction {
  std::string name, op, kernel;  ///< kernel: "" for a copy between or within devices
  std::string location;          ///< "digits.ir:12", or "" if unknown
  Place place;
  int worker = 0;                            ///< index of the thread that completed it; 0 is the caller
  int64_t begin = 0, end = 0;                ///< nanoseconds since the run began
  std::vector<TracedValue> in, out;          ///< operands and results, in the order of the operator's ports
  std::vector<struct TracedRegion> regions;  ///< executed regions, in order
};

/// One execution of a region.
struct TracedRegion {
  std::string name;  ///< "body, iteration 3"
  std::vector<TracedInstruction> instructions;
};

/// Trace of a run: all instructions in program order.
struct ExecutionTrace {
  std::string network;
  std::vector<TracedInstruction> instructions;
  int64_t left_out = 0;  ///< region executions that are not shown
};

/// Result of `run`.
struct RunResult {
  Tensors outputs;                           ///< outputs by name
  std::vector<double> milliseconds;          ///< duration of each repeated run
  std::optional<ExecutionTrace> trace = {};  ///< times and ranges of all instructions, if RunOptions request them
  std::vector<std::string> notes = {};       ///< inputs for which calibrated ranges may not hold
};

/// Runs `network` in evaluation mode on named inputs, whose extents replace dynamic dimensions. An unnamed array is
/// used for the only input. f64 inputs are converted to f32 if the network takes f32. Throws bad_input for a missing or
/// unknown name, and for a tensor of another type or shape. Throws if a loop exceeds `options.max_iterations`.
RunResult run(const Model& network, const Tensors& inputs, const RunOptions& options = {},
              const Settings& settings = {});

/// Runs a foreign file in the mode stored in the file, even training mode. The input values may determine its
/// structure: branches, loops and extents are translated for these values. Throws bad_input for a missing or unknown
/// name, and one unsupported Error with all parts of the file that Halfstep lacks.
RunResult run(const formats::File& file, const Tensors& inputs, const RunOptions& options = {},
              const Settings& settings = {});

/// Returns the extents of the arguments of `graph`, from `inputs`. Throws bad_input for a missing or unknown name, and
/// for a tensor of another type or shape. `source` is the name in messages.
std::map<std::string, Dims> extents_of(const Graph& graph, const Tensors& inputs, const std::string& source);

/// Comparison of one output with its expected tensor.
struct TensorComparison {
  std::string tensor;                          ///< name, and the types if they differ
  int64_t elements = 0, differing = 0;         ///< numbers of elements
  double largest_difference = 0;               ///< largest absolute difference of elements that are numbers
  Dims first_position;                         ///< position of the first difference; empty if there is none
  double first_found = 0, first_expected = 0;  ///< values at that position
};

/// Counts elements that differ by more than `absolute + relative * |expected|`. Elements that are not floats must be
/// equal. NaN equals NaN. If the types or shapes differ, every element counts as different.
TensorComparison compare(const std::string& name, const Tensor& found, const Tensor& expected,
                         const Tolerance& tolerance);

/// Compares each expected tensor with the output of its name, and an unnamed one with the only output. Throws bad_input
/// if no output has the name.
std::vector<TensorComparison> compare(const Tensors& found, const Tensors& expected, const Tolerance& tolerance);

/// Reads npz, npy (one array with the name "") or, for other extensions, safetensors. Throws bad_input with the path
/// for a file that cannot be read or is damaged.
Tensors read_tensors(const std::filesystem::path& path);
/// Throws bad_input for an extension other than .npz and .safetensors. Accepts "", which means no file.
void require_tensor_file(const std::filesystem::path& path);
/// Writes named tensors as npz or safetensors, by extension, atomically. Throws bad_input for other extensions and for
/// a path that cannot be written.
void write_tensors(const std::filesystem::path& path, const Tensors& tensors);

}  // namespace halfstep::api
