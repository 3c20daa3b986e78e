#include "cli/command.h"

#include <cstdio>

#include "cli/progress.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {

api::Settings settings_of(const api::CommonOptions& common) {
  api::Settings settings;
  settings.threads = common.threads;
  settings.seed = common.seed;
  settings.progress = make_progress(!common.json);
  return settings;
}

std::optional<io::Claim> require(const api::OutFile& file) {
  if (file.path.empty()) return std::nullopt;
  io::require_file_target(file.path);
  std::optional<io::Claim> claim = io::Claim::of_name(file.path);
  std::error_code failed;
  if (!file.overwrite && std::filesystem::is_regular_file(file.path, failed))
    fail(errors::file_not_replaced(file.path.string(), "file"));
  return claim;
}

namespace {

std::string path_of(const api::DataPath& data) { return data.path.empty() ? api::kDigits : data.path.string(); }

void note_digits(const api::CommonOptions& common, const api::DataPath& data) {
  if (data.path.empty() && !common.json)
    print_notes({"no --data: using the built-in digits (0.3 will require --data digits)"});
}

}  // namespace

api::Dataset load_data(const api::CommonOptions& common, const api::DataPath& data, int64_t classes) {
  api::Dataset loaded = api::load_data(path_of(data), classes, data.read);
  note_digits(common, data);
  return loaded;
}

api::LoadedPair load_both(const api::CommonOptions& common, const std::filesystem::path& network,
                          const api::DataPath& data, const data::PreprocessOptions& preprocess) {
  api::LoadedPair loaded = api::load_both(network, path_of(data), data.read, preprocess);
  note_digits(common, data);
  return loaded;
}

api::Platform load_platform(const api::CommonOptions& common, const api::TargetOptions& target) {
  api::Platform platform = api::load_platform(target);
  if (!common.json) {
    for (const std::string& key : platform.earlier_keys)
      print_notes({fmt::format("platform '{}': {} (0.3 removes the old spelling)", platform.name, key)});
  }
  return platform;
}

std::optional<api::Platform> platform_of(const api::CommonOptions& common, const api::TargetOptions& target) {
  if (!target.platform) return std::nullopt;
  return load_platform(common, target);
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::fputs(("halfstep: note: " + note + "\n").c_str(), stderr);
}

void name_repair_folder(repair::Options& repair, const api::OutFile& out) {
  if (repair::any(repair) && repair.folder.empty()) repair.folder = out.path.string() + ".repair";
  repair::check_methods(repair);
}

}  // namespace halfstep::cli
