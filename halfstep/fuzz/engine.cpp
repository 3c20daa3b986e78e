#include "halfstep/fuzz/engine.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "halfstep/core/base/embedded.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/files/npz.h"

namespace halfstep::fuzz {
namespace {

constexpr const char* kScript = "python/halfstep/onnxruntime_runs.py";

/// NumPy lacks bf16. The generated ONNX files have no bf16 inputs.
bool fits_npz(const Tensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (tensor.dtype() == DType::bf16) return false;
  }
  return true;
}

/// Without a sync, because the files are not needed after a crash.
void write_plainly(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

Engine::Engine(std::string interpreter, std::filesystem::path folder)
    : interpreter_(std::move(interpreter)), folder_(std::move(folder)) {
  const auto script = find_embedded(kScript);
  HS_CHECK(script.has_value());
  write_plainly(folder_ / "runs.py", *script);
  start();
}

void Engine::start() {
  try {
    python_ = std::make_unique<io::ChildProcess>(
        std::vector<std::string>{interpreter_, (folder_ / "runs.py").string(), folder_.string()}, folder_ / "errors");
    version_ = python_->read_line();
    if (!version_) reason_ = interpreter_ + " has no onnxruntime";
  } catch (const Error& error) {
    reason_ = error.what();
  }
}

Engine::Answer Engine::run(const std::string& bytes, const Tensors& inputs) {
  if (!version_) return {{}, reason_};
  if (!fits_npz(inputs)) return {{}, "numpy has no bfloat16"};
  write_plainly(folder_ / "model.onnx", std::as_bytes(std::span(bytes)));
  Tensors numbered;  // file names in an archive cannot be value names
  nlohmann::json names = nlohmann::json::array();
  for (const auto& [name, tensor] : inputs) {
    numbered.emplace(std::to_string(names.size()), tensor);
    names.push_back(name);
  }
  write_plainly(folder_ / "inputs.npz", io::serialize_npz(numbered));
  const auto answer = python_->ask(names.dump());
  if (!answer) {
    start();
    return {{}, "onnxruntime ended"};
  }
  if (*answer != "ok") return {{}, *answer};
  return {io::read_npz(folder_ / "outputs.npz"), ""};
}

}  // namespace halfstep::fuzz
