#include "halfstep/onnxruntime_road.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>

#include "halfstep/base/cpu.h"
#include "halfstep/base/embedded.h"
#include "halfstep/base/status.h"
#include "halfstep/comparison.h"
#include "halfstep/formats/onnx/export.h"
#include "halfstep/io/atomic_file.h"
#include "halfstep/io/file.h"

extern char** environ;

namespace halfstep {
namespace {

/// The version that docs/arithmetic.md, section 9, was measured on.
constexpr std::string_view kVersion = "1.31.";
constexpr const char* kScript = "python/halfstep/onnxruntime_codes.py";

/// The interpreter: HALFSTEP_PYTHON, or python3.
std::string interpreter() {
  const char* chosen = std::getenv("HALFSTEP_PYTHON");
  return chosen != nullptr && *chosen != '\0' ? chosen : "python3";
}

std::filesystem::path make_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "halfstep-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) fail("{}: cannot be made a folder: {}", name, io::system_reason(errno));
  return name;
}

/// Exit status of a program whose output goes to `log`; -1 where it cannot be started.
int run_program(std::vector<std::string> words, const std::filesystem::path& log) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The last line, which says why Python ended.
std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  const size_t end = text.rfind('\n');
  return end == std::string::npos ? text : text.substr(end + 1);
}

}  // namespace

OnnxruntimeRoad::OnnxruntimeRoad(const Model& integer, std::vector<std::string> layers)
    : layers_(std::move(layers)), network_outputs_(integer.graph.outputs().size()), folder_(make_folder()) {
  if (detected_cpu_level() < CpuLevel::vnni)
    unsupported("onnxruntime's sums are exact on processors with VNNI, this one has {}", name(detected_cpu_level()));
  const auto script = find_embedded(kScript);
  HS_CHECK(script.has_value());
  io::write_file(folder_ / "codes.py", *script);
  const std::string version = last_line(python({"version"}));
  if (!version.starts_with(kVersion))
    unsupported("{}: found onnxruntime {}, expected {}*: the arithmetic of others was not measured", interpreter(),
                version, kVersion);
  formats::onnx::ExportOptions options{.form = formats::onnx::ExportForm::qoperator};
  options.outputs = layers_;
  formats::onnx::export_file(integer, options, folder_ / "model.onnx");
}

OnnxruntimeRoad::~OnnxruntimeRoad() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string OnnxruntimeRoad::python(const std::vector<std::string>& arguments) const {
  std::vector<std::string> words = {interpreter(), (folder_ / "codes.py").string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto log = folder_ / "log";
  const int status = run_program(words, log);
  if (status < 0)
    unsupported("{}: cannot be run; name a Python that has onnxruntime in HALFSTEP_PYTHON", interpreter());
  const std::string said = io::read_text_file(log);
  if (status != 0)
    unsupported("{}: {}; name a Python that has onnxruntime in HALFSTEP_PYTHON", interpreter(), last_line(said));
  return said;
}

Tensors OnnxruntimeRoad::run(const Tensors& tensors) const {
  const auto inputs = folder_ / "inputs.npz", outputs = folder_ / "outputs.npz";
  write_tensors(inputs, tensors);
  python({(folder_ / "model.onnx").string(), inputs.string(), outputs.string()});
  const Tensors all = read_tensors(outputs);
  Tensors codes;
  for (size_t i = 0; i < layers_.size(); ++i) codes[layers_[i]] = all.at(std::to_string(network_outputs_ + i));
  return codes;
}

}  // namespace halfstep
