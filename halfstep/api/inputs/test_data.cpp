#include "halfstep/api/inputs/test_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "halfstep/api/errors.h"
#include "halfstep/core/files/file.h"
#include "halfstep/formats/onnx/onnx_file.h"

namespace halfstep::api {
namespace {

/// Reads the ONNX tensors PREFIX_K.pb, by name of port K. Skips missing files.
Tensors read_set(const std::filesystem::path& folder, const std::string& prefix,
                 const std::vector<formats::Port>& ports) {
  Tensors tensors;
  for (size_t i = 0; i < ports.size(); ++i) {
    const auto path = folder / fmt::format("{}_{}.pb", prefix, i);
    std::error_code failed;
    if (!std::filesystem::exists(path, failed) || ports[i].name.empty()) continue;
    if (!ports[i].is_tensor) fail(errors::value_not_a_tensor(path.string(), ports[i].name, ports[i].type));
    tensors[ports[i].name] = formats::onnx::read_tensor_file(path);
  }
  return tensors;
}

std::vector<std::filesystem::path> sets_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> sets;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    std::error_code gone;
    if (entry.is_directory(gone) && entry.path().filename().string().starts_with("test_data_set_"))
      sets.push_back(entry.path());
  }
  if (failed || sets.empty()) fail(errors::test_data_missing(folder.string(), "a folder test_data_set_*"));
  std::sort(sets.begin(), sets.end());
  return sets;
}

}  // namespace

std::vector<TestSet> read_test_data(const std::filesystem::path& folder, const formats::Summary& network) {
  std::vector<TestSet> sets;
  for (const auto& path : sets_in(folder)) {
    sets.push_back(
        {path.filename().string(), read_set(path, "input", network.inputs), read_set(path, "output", network.outputs)});
    if (sets.back().outputs.empty()) fail(errors::test_data_missing(path.string(), "files output_*.pb"));
  }
  return sets;
}

Tolerance read_tolerance(const std::filesystem::path& folder, const Tolerance& otherwise) {
  const auto path = folder / "tolerance.json";
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) return otherwise;
  const auto json = nlohmann::json::parse(io::read_text_file(path), nullptr, false);
  const auto number = [&](const char* key, double usual) {
    if (!json.is_object() || !json.contains(key)) return usual;
    if (!json[key].is_number()) fail(errors::tolerance_not_a_number(path.string(), key, json[key].dump()));
    return json[key].get<double>();
  };
  return {number("rtol", otherwise.relative), number("atol", otherwise.absolute), otherwise.exact};
}

}  // namespace halfstep::api
