// A network on named tensors, and how its results compare with others.
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
  std::string port, name;
  Type type;
  Place place;
  runtime::ValueRange range;  ///< of results, where the trace has them
};

struct TracedInstruction {
  std::string name, op, kernel;  ///< without a kernel: a copy between places or within one
  std::string location;          ///< "digits.ir:12", or ""
  Place place;
  int worker = 0;
  int64_t begin = 0, end = 0;  ///< nanoseconds since the run began
  std::vector<TracedValue> in, out;
  std::vector<struct TracedRegion> regions;  ///< that it ran, in order
};

/// What a region did, once.
struct TracedRegion {
  std::string name;  ///< "body, iteration 3"
  std::vector<TracedInstruction> instructions;
};

/// A run, instruction by instruction, in the program's order.
struct ExecutionTrace {
  std::string network;
  std::vector<TracedInstruction> instructions;
  int64_t left_out = 0;  ///< runs of regions that are not shown
};

struct RunResult {
  Tensors outputs;                           ///< by name
  std::vector<double> milliseconds;          ///< of each repeated run
  std::optional<ExecutionTrace> trace = {};  ///< where it is asked for
  std::vector<std::string> notes = {};       ///< inputs that ranges may not hold for
};

/// `network` in evaluation mode on `inputs`, by name, whose extents close those that are open. An array without a name
/// is that of the only input; numbers of f64 become f32 where the network takes those. Throws for a missing or unknown
/// name.
RunResult run(const Model& network, const Tensors& inputs, const RunOptions& options = {},
              const Settings& settings = {});

/// The network of a foreign file in the mode that the file says, be it training. The inputs may decide what is in it:
/// branches, loops and extents are taken as they come out for these values.
RunResult run(const formats::File& file, const Tensors& inputs, const RunOptions& options = {},
              const Settings& settings = {});

/// Extents of the arguments of `graph`, by name, as `inputs` have them; throws, naming `source`, for a missing or
/// unknown name.
std::map<std::string, Dims> extents_of(const Graph& graph, const Tensors& inputs, const std::string& source);

struct Comparison {
  std::string tensor;  ///< its name, and the types where they differ
  int64_t elements = 0, differing = 0;
  double largest_difference = 0;
  Dims first_position;  ///< of the first differing element; empty when none differs
  double first_found = 0, first_expected = 0;
};

/// Elements that differ by more than the tolerance, which holds for floats; NaN equals NaN. Another type is a
/// difference of every element.
Comparison compare(const std::string& name, const Tensor& found, const Tensor& expected, const Tolerance& tolerance);

/// One for each expected tensor; throws where no output has its name. One without a name is that of the only output.
std::vector<Comparison> compare(const Tensors& found, const Tensors& expected, const Tolerance& tolerance);

/// npz or npy, whose array has the name "", by the name of the file, else safetensors.
Tensors read_tensors(const std::filesystem::path& path);
/// Both throw for other extensions than .npz and .safetensors; "" is no file.
void require_tensor_file(const std::filesystem::path& path);
void write_tensors(const std::filesystem::path& path, const Tensors& tensors);

}  // namespace halfstep::api
