#include "halfstep/data/datasets/image_layout.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "halfstep/data/datasets/errors.h"

namespace halfstep::data {
namespace {

using Folders = std::vector<std::string>;

Folders folders_of(const std::string& path) {
  Folders parts;
  for (const auto& part : std::filesystem::path(path).parent_path()) parts.push_back(part.string());
  return parts;
}

/// Example: "train" for "Training". "" if it is not the name of a part.
std::string part_name(std::string folder) {
  std::transform(folder.begin(), folder.end(), folder.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNames = {{{"train", "train"},
                                                                                    {"training", "train"},
                                                                                    {"val", "val"},
                                                                                    {"valid", "val"},
                                                                                    {"validation", "val"},
                                                                                    {"test", "test"},
                                                                                    {"testing", "test"}}};
  for (const auto& [name, part] : kNames) {
    if (folder == name) return std::string(part);
  }
  return "";
}

/// Number of leading folders that all images share. A folder of a part does not count.
size_t shared_folders(const std::vector<Folders>& all) {
  for (size_t depth = 0;; ++depth) {
    for (const Folders& folders : all) {
      if (folders.size() <= depth || folders[depth] != all[0][depth] || !part_name(folders[depth]).empty())
        return depth;
    }
  }
}

/// Throws unless all images have `what` or none has.
void require_alike(const std::vector<std::string>& paths, const std::vector<ImagePlace>& places,
                   std::string ImagePlace::*what, const std::string& where) {
  for (size_t i = 1; i < paths.size(); ++i) {
    if ((places[i].*what).empty() == (places[0].*what).empty()) continue;
    if (what == &ImagePlace::part) fail(errors::image_layouts_differ(where, paths[0], paths[i]));
    const bool first = places[0].label.empty();
    fail(errors::image_without_class(where, paths[first ? 0 : i], paths[first ? i : 0]));
  }
}

/// A class that occurs only outside train is probably a folder with another semantics.
void require_known_classes(const std::vector<std::string>& paths, const std::vector<ImagePlace>& places,
                           const std::string& where) {
  std::set<std::string> known;
  for (const ImagePlace& place : places) {
    if (place.part == "train") known.insert(place.label);
  }
  if (known.empty()) return;
  for (size_t i = 0; i < places.size(); ++i) {
    if (!known.contains(places[i].label)) fail(errors::class_without_training(where, paths[i], places[i].label));
  }
}

}  // namespace

ImageLayout layout_of(const std::vector<std::string>& paths, const std::string& where, int64_t most) {
  std::vector<Folders> all;
  for (const std::string& path : paths) all.push_back(folders_of(path));
  const size_t shared = all.empty() ? 0 : shared_folders(all);
  ImageLayout layout;
  for (const Folders& folders : all) {
    ImagePlace place;
    size_t at = shared;
    if (at < folders.size()) place.part = part_name(folders[at]);
    if (!place.part.empty()) ++at;
    if (at < folders.size()) place.label = folders[at];
    layout.places.push_back(std::move(place));
  }
  require_alike(paths, layout.places, &ImagePlace::part, where);
  require_alike(paths, layout.places, &ImagePlace::label, where);
  require_known_classes(paths, layout.places, where);
  std::set<std::string> classes;
  for (const ImagePlace& place : layout.places) classes.insert(place.label);
  if (!classes.contains("")) layout.classes.assign(classes.begin(), classes.end());
  if (std::cmp_greater(layout.classes.size(), most)) fail(errors::too_many_classes(where, layout.classes.size(), most));
  return layout;
}

ImageLayout parts_only(const std::vector<std::string>& paths) {
  ImageLayout layout;
  for (const std::string& path : paths) {
    ImagePlace place;
    for (const std::string& folder : folders_of(path)) {
      if (place.part.empty()) place.part = part_name(folder);
    }
    layout.places.push_back(std::move(place));
  }
  return layout;
}

void describe(const ImageLayout& layout, const std::vector<int64_t>& kept, Dataset& dataset) {
  dataset.classes = layout.classes;
  if (layout.has_labels()) dataset.labels = Tensor(DType::i32, {static_cast<int64_t>(kept.size())});
  Split split;
  for (size_t i = 0; i < kept.size(); ++i) {
    const ImagePlace& place = layout.places[static_cast<size_t>(kept[i])];
    if (layout.has_labels())
      dataset.labels.data<int32_t>()[i] = static_cast<int32_t>(
          std::lower_bound(layout.classes.begin(), layout.classes.end(), place.label) - layout.classes.begin());
    auto& part = place.part == "train" ? split.train : place.part == "val" ? split.val : split.test;
    part.push_back(static_cast<int64_t>(i));
  }
  split.tested = "test/";
  if (split.test.empty()) {
    std::swap(split.test, split.val);
    split.tested = "val/";
  }
  if (!split.train.empty() && !split.test.empty()) dataset.split = std::move(split);
}

}  // namespace halfstep::data
