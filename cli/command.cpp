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

api::Dataset load_data(const api::DataPath& data, int64_t classes) {
  if (data.path.empty()) print_notes({"without --data the built-in digits are used; from 0.2 on pass --data digits"});
  return api::load_data(data.path.empty() ? api::kDigits : data.path.string(), classes, data.read);
}

api::LoadedPair load_both(const std::filesystem::path& network, const api::DataPath& data,
                          const train::PreprocessOptions& preprocess) {
  if (data.path.empty()) print_notes({"without --data the built-in digits are used; from 0.2 on pass --data digits"});
  return api::load_both(network, data.path.empty() ? api::kDigits : data.path.string(), data.read, preprocess);
}

std::optional<api::Platform> platform_of(const api::TargetOptions& target) {
  if (target.platform.empty()) return std::nullopt;
  return api::load_platform(target);
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::fputs(("halfstep: note: " + note + "\n").c_str(), stderr);
}

void name_repair_folder(repair::Options& repair, const api::OutFile& out) {
  if (repair::any(repair) && repair.folder.empty()) repair.folder = out.path.string() + ".repair";
  repair::check_methods(repair);
}

}  // namespace halfstep::cli
