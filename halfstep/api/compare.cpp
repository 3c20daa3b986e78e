#include "halfstep/api/compare.h"

#include <algorithm>
#include <optional>

#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/api/run.h"
#include "halfstep/core/base/limits.h"
#include "halfstep/formats/import/import.h"

namespace halfstep::api {
namespace {

namespace fs = std::filesystem;

board::Side network_side(const Model& network, const std::string& name, const Dataset* data,
                         const CompareOptions& options, const Settings& settings) {
  if (data == nullptr) fail(errors::no_samples_to_compare(name));
  NetworkValues values = values_of(network, *data, options.dump, settings);
  return board::side_of(std::move(values.manifest), std::move(values.contents), name);
}

/// Reads arrays by name from a file of another framework.
board::Side array_side(const fs::path& path) {
  board::Manifest manifest;
  std::vector<Tensor> contents;
  for (auto& [name, tensor] : read_tensors(path)) {
    board::Entry entry{.name = name, .layer = name, .op = "", .type = tensor.type()};
    manifest.entries.push_back(entry);
    contents.push_back(tensor);
  }
  if (contents.empty()) fail(errors::file_without_arrays(path.string()));
  return board::side_of(std::move(manifest), std::move(contents), path.string());
}

board::Side side_at(const fs::path& path, const Dataset* data, const CompareOptions& options,
                    const Settings& settings) {
  std::error_code failed;
  const auto status = fs::status(path, failed);
  if (!fs::exists(status)) fail(errors::no_such_side(path.string()));
  if (fs::is_directory(status) && !formats::is_foreign(path)) return board::read_folder(path);
  if (is_network(path)) return network_side(load(path), path.string(), data, options, settings);
  if (options.like) return board::read_file(path, *options.like);
  const std::string ending = path.extension().string();
  if (ending == ".npz" || ending == ".safetensors") return array_side(path);
  fail(errors::bare_values(path.string()));
}

/// Compares both sides. If a side cannot be read, throws the problems of both.
template <class First, class Second>
board::Comparison compare_sides(First first, Second second, const CompareOptions& options, const Settings& settings) {
  require_in_range(options);
  std::optional<board::Side> a, b;
  std::vector<Diagnostic> wrong;
  const auto read = [&](std::optional<board::Side>& side, auto& make) {
    try {
      side = make();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted || error.kind() == ErrorKind::internal) throw;
      wrong.insert(wrong.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  };
  read(a, first);
  read(b, second);
  fail_on_any(std::move(wrong));
  ThreadPool pool(settings.threads);
  return board::compare(std::move(*a), std::move(*b), pool, options.tolerance, settings.progress);
}

}  // namespace

bool is_network(const fs::path& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed) && (is_model_file(path) || formats::is_foreign(path));
}

board::Comparison compare(const fs::path& first, const fs::path& second, const std::optional<Dataset>& data,
                          const CompareOptions& options, const Settings& settings) {
  const Dataset* samples = data ? &*data : nullptr;
  return compare_sides([&] { return side_at(first, samples, options, settings); },
                       [&] { return side_at(second, samples, options, settings); }, options, settings);
}

board::Comparison compare(const Model& first, const fs::path& second, const Dataset& data,
                          const CompareOptions& options, const Settings& settings) {
  return compare_sides(
      [&] { return network_side(first, "network '" + first.graph.name() + "'", &data, options, settings); },
      [&] { return side_at(second, &data, options, settings); }, options, settings);
}

}  // namespace halfstep::api
