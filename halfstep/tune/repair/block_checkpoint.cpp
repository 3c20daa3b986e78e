#include "halfstep/tune/repair/block_checkpoint.h"

#include <fmt/format.h>

#include <utility>

#include "halfstep/core/base/status.h"
#include "halfstep/tune/repair/errors.h"

namespace halfstep::repair {
namespace {

constexpr const char* kEnd = ".block.safetensors";

bool is_block(const std::filesystem::path& path) { return path.filename().string().ends_with(kEnd); }

std::vector<std::filesystem::path> blocks_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (is_block(entry.path())) found.push_back(entry.path());
  }
  return found;
}

}  // namespace

Checkpoints::Checkpoints(const Options& options, std::string method, const Model& start, const data::Samples& samples,
                         uint64_t seed)
    : folder_(options.folder), resume_(options.resume), method_(std::move(method)) {
  if (folder_.empty()) return;
  key_ = fmt::format("{} from network {} on samples {}, {} steps of {}, seed {}", method_, digest_hex(start),
                     data::content_digest(samples), options.steps, options.batch, seed);
}

std::filesystem::path Checkpoints::path(size_t number) const {
  return folder_ / fmt::format("{}_{:04}{}", method_, number, kEnd);
}

std::optional<Model> Checkpoints::load(size_t number, const Model& part) const {
  if (folder_.empty() || !resume_ || !std::filesystem::exists(path(number))) return std::nullopt;
  Model block = load_model(path(number));
  if (const std::string& found = block.metadata.repair_run; found != key_)
    fail(errors::repair_block_of_another_run(path(number).string(), quote(found), quote(key_)));
  for (const auto& [name, tensor] : block.tensors) {
    const auto known = part.tensors.find(name);
    if (known == part.tensors.end() || known->second.type() != tensor.type())
      fail(errors::repair_block_does_not_fit(path(number).string(), name));
  }
  return block;
}

void Checkpoints::save(size_t number, const Model& part) {
  if (folder_.empty()) return;
  Model file = part;
  file.metadata.repair_run = key_;
  save_model(file, path(number));
}

void require_free(const Options& options) {
  if (options.folder.empty() || options.resume || blocks_in(options.folder).empty()) return;
  fail(errors::repair_folder_taken(options.folder.string()));
}

void remove_checkpoints(const Options& options) {
  if (options.folder.empty()) return;
  std::error_code ignored;
  for (const auto& path : blocks_in(options.folder)) std::filesystem::remove(path, ignored);
  std::filesystem::remove(options.folder, ignored);
}

}  // namespace halfstep::repair
