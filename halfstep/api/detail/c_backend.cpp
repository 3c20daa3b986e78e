#include "halfstep/api/detail/c_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/child_process.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/little_endian.h"
#include "halfstep/core/files/temporary_folder.h"
#include "halfstep/formats/c/c_program.h"
#include "halfstep/formats/c/c_text.h"
#include "halfstep/formats/c/orders.h"
#include "halfstep/passes/canonical/index_arithmetic.h"
#include "halfstep/verify/equivalence/compared_programs.h"

namespace halfstep::api {
namespace {

/// Shortens the output of a program to about one screen.
std::string shown(const std::string& words) {
  constexpr size_t kMost = 2000;
  std::string text = words.size() > kMost ? words.substr(0, kMost) + "..." : words;
  while (text.ends_with('\n')) text.pop_back();
  return text.empty() ? "''" : "\n" + text;
}

/// Throws if the program failed or timed out. `command` is the command as a user would type it.
void require_success(const io::Ended& ended, const std::string& command, double seconds) {
  if (ended.is_late) fail(errors::c_command_late(command, seconds));
  if (ended.signal != 0)
    fail(errors::c_command_failed(command, fmt::format("signal {} ({})", ended.signal, strsignal(ended.signal)),
                                  shown(ended.errors)));
  if (ended.code != 0)
    fail(errors::c_command_failed(command, fmt::format("exit code {}", ended.code), shown(ended.errors)));
}

/// Returns the name of the only program in a folder.
std::string program_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const auto& path = entry.path();
    if (path.extension() == ".h" && std::filesystem::exists(folder / (path.stem().string() + ".c")))
      names.push_back(path.stem().string());
  }
  if (failed) fail(errors::c_folder_unreadable(folder.string(), io::system_reason(failed.value())));
  if (names.size() != 1) fail(errors::not_one_c_program(folder.string(), names.size()));
  if (io::read_text_file(folder / (names[0] + ".h")).find(names[0] + "_run_showing(") == std::string::npos)
    fail(errors::c_program_without_layers((folder / (names[0] + ".h")).string()));
  return names[0];
}

/// The compiled program.
class Machine {
 public:
  Machine(const Model& integer, const CProgramOptions& options, const std::map<std::string, Dims>& extents)
      : integer_(integer), options_(options) {
    const bool is_given = options.c_folder.has_value();
    const std::string name =
        is_given ? program_in(*options.c_folder) : formats::c::to_c_identifier(integer.graph.name());
    program_ =
        formats::c::c_program(integer, {.name = name, .hooks = true, .float_fallback = true, .extents = extents});
    for (const formats::c::CLayer& layer : program_.layers) layers_.emplace(layer.name, &layer);
    const std::filesystem::path sources = is_given ? *options.c_folder : folder_.path();
    if (!is_given) {
      for (const formats::c::CFile& file : program_.files) io::write_file(folder_ / file.name, file.text);
    }
    const formats::c::CFile driver = formats::c::driver_program(program_);
    io::write_file(folder_ / driver.name, driver.text);
    compile(sources, name, driver.name);
  }

  /// Largest number of samples in a batch. It is one call if several calls, concatenated, differ from one call with all
  /// samples. This holds for a layer that has the samples on another axis than the first, has no sample axis, counts
  /// samples, or is in a branch or a loop.
  int64_t most_samples() const {
    Tensors two_calls;
    bool takes_any = false;
    for (const Value argument : integer_.graph.arguments()) {
      const auto port = std::ranges::find(program_.inputs, argument.name(), &formats::c::CPort::value);
      Dims dims = port == program_.inputs.end() ? argument.dims() : port->type.dims;
      if (!dims.empty() && argument.dims()[0] == kUnknown) {
        dims[0] = 2;
        takes_any = true;
      }
      std::ranges::replace(dims, kUnknown, int64_t{1});  // dynamic dimensions of an unread argument
      two_calls.emplace(argument.name(), Tensor(argument.dtype(), dims));
    }
    if (!takes_any) return std::numeric_limits<int64_t>::max();
    const Graph together = verify::sized_for(integer_, two_calls).graph;
    const passes::IndexArithmetic indices(integer_.graph);
    const auto is_separate = [&](const formats::c::CLayer& layer) {
      if (layer.is_inside || indices.is_exact(integer_.graph.op(layer.name))) return false;
      Dims dims = layer.type.dims;
      if (!dims.empty()) dims[0] *= 2;
      return together.value(layer.name).dims() == dims;
    };
    return std::ranges::all_of(program_.layers, is_separate) ? std::numeric_limits<int64_t>::max() : 1;
  }

  /// Returns the layers outside branches and loops for a batch. The results of all calls are concatenated.
  Tensors run(const Tensors& inputs) const {
    const int64_t calls = count_calls(inputs);
    Tensors layers;
    for (const auto& [layer, parts] : run_calls(inputs, calls)) {
      if (layer->is_inside) continue;
      if (std::ssize(parts) != calls)
        fail(errors::c_answer_incomplete(fmt::format("layer '{}' {} times", layer->name, parts.size()),
                                         fmt::format("once in each of {} calls", calls)));
      Dims dims = layer->type.dims;
      if (!dims.empty()) dims[0] *= calls;
      layers[layer->name] = joined(parts, dims);
    }
    return layers;
  }

  /// Returns the layers in branches and loops, once for each execution.
  Tensors run_inside(const Tensors& inputs) const {
    Tensors layers;
    for (const auto& [layer, parts] : run_calls(inputs, count_calls(inputs))) {
      if (layer->is_inside) layers[layer->name] = joined(parts, {std::ssize(parts) * count_elements(layer->type.dims)});
    }
    return layers;
  }

 private:
  void compile(const std::filesystem::path& sources, const std::string& name, const std::string& driver) const {
    std::vector<std::string> words = io::split_command(options_.compiler);
    if (words.empty()) fail(errors::no_c_compiler());
    for (const std::filesystem::path& word :
         {std::filesystem::path("-I" + sources.string()), std::filesystem::path("-o"), folder_ / "program",
          sources / (name + ".c"), folder_ / driver})
      words.push_back(word.string());
    if (program_.uses_math) words.emplace_back("-lm");
    require_success(io::run_program(words, "", options_.time_limit), options_.compiler + " " + name + ".c " + driver,
                    options_.time_limit);
  }

  /// Number of calls for a batch. Inputs without axes are the same in all calls.
  int64_t count_calls(const Tensors& inputs) const {
    bool reads_any = false;
    for (const formats::c::CPort& port : program_.inputs) {
      const auto found = inputs.find(port.value);
      if (found == inputs.end()) continue;
      reads_any = true;
      if (!port.type.dims.empty()) return found->second.dims()[0] / std::max<int64_t>(1, port.type.dims[0]);
    }
    if (!reads_any) fail(errors::c_program_reads_no_sample());
    return 1;
  }

  /// Encodes the float inputs of each call, in the order of the program's parameters.
  std::string bytes_of(const Tensors& inputs, int64_t calls) const {
    std::string bytes;
    for (int64_t call = 0; call < calls; ++call) {
      for (const formats::c::CPort& port : program_.inputs) {
        Tensor floats = inputs.at(port.value);
        const int64_t rows = port.type.dims.empty() ? 0 : floats.dims()[0] / calls;
        if (!port.type.dims.empty()) floats = floats.rows(call * rows, (call + 1) * rows);
        if (port.type.dtype == DType::f32) floats = formats::c::to_memory(floats, port.is_image);
        bytes.append(reinterpret_cast<const char*>(floats.raw()), floats.bytes());
      }
    }
    return bytes;
  }

  /// Runs the program and returns its output for each layer and call.
  std::map<const formats::c::CLayer*, std::vector<Tensor>> run_calls(const Tensors& inputs, int64_t calls) const {
    std::vector<std::string> words = io::split_command(options_.runner.value_or(""));
    words.push_back((folder_ / "program").string());
    const io::Ended ended = io::run_program(words, bytes_of(inputs, calls), options_.time_limit);
    require_success(ended, (options_.runner ? *options_.runner + " " : "") + "PROGRAM", options_.time_limit);
    std::map<const formats::c::CLayer*, std::vector<Tensor>> shown;
    for (const formats::c::CLayer& layer : program_.layers) shown[&layer];
    for (size_t at = 0; at < ended.output.size();) {
      auto [layer, codes] = next_layer(ended.output, at);
      shown[layer].push_back(std::move(codes));
    }
    return shown;
  }

  static Tensor joined(const std::vector<Tensor>& parts, const Dims& dims) {
    if (parts.empty()) return Tensor(DType::u8, {0});
    Tensor all(parts.front().dtype(), dims);
    std::byte* to = all.raw();
    for (const Tensor& part : parts) {
      std::memcpy(to, part.raw(), part.bytes());
      to += part.bytes();
    }
    return all;
  }

  /// Parses one layer: name, number of elements, bytes per element, elements.
  std::pair<const formats::c::CLayer*, Tensor> next_layer(const std::string& output, size_t& at) const {
    const auto take = [&](size_t count) {
      if (output.size() - at < count)
        fail(errors::c_answer_incomplete(fmt::format("the end at byte {}, within a layer", at), "complete layers"));
      at += count;
      return std::string_view(output).substr(at - count, count);
    };
    const auto number = [&] { return io::load_little_endian<uint32_t>(std::as_bytes(std::span(take(4)))); };
    const std::string found(take(number()));
    const size_t count = number(), each = number();
    const auto layer = layers_.find(found);
    if (layer == layers_.end() || count != static_cast<size_t>(count_elements(layer->second->type.dims)) ||
        each != size_of(layer->second->type.dtype))
      fail(errors::c_layer_of_other_type(
          found, count, each, layer == layers_.end() ? "a layer of the network" : to_string(layer->second->type)));
    const auto& [name, type, is_image, is_inside] = *layer->second;
    Tensor codes(type.dtype, formats::c::stored_dims(type.dims, is_image));
    std::memcpy(codes.raw(), take(codes.bytes()).data(), codes.bytes());
    return {layer->second, formats::c::from_memory(codes, is_image)};
  }

  Model integer_;
  CProgramOptions options_;
  io::TemporaryFolder folder_;
  formats::c::CProgram program_;
  std::map<std::string, const formats::c::CLayer*> layers_;  ///< layers by name
};

}  // namespace

void add_c(verify::ExecutionPaths& paths, const CProgramOptions& options, const std::map<std::string, Dims>& extents) {
  const auto machine = std::make_shared<Machine>(paths.integer, options, extents);
  paths.engine = [machine](const Tensors& inputs) { return machine->run(inputs); };
  paths.inside = [machine](const Tensors& inputs) { return machine->run_inside(inputs); };
  paths.most_samples = machine->most_samples();
}

}  // namespace halfstep::api
