// Data sets in MNIST's files: NAME-images-idx3-ubyte[.gz] with NAME-labels-idx1-ubyte[.gz].
#pragma once

#include "halfstep/data/datasets/dataset.h"

namespace halfstep::data {

/// Path of PREFIX-images-idx3-ubyte in `folder`, compressed or not. nullopt if it does not exist.
std::optional<std::filesystem::path> find_idx_images(const std::filesystem::path& folder, const std::string& prefix);

/// Images and the labels beside them, as u8 [n, 1, height, width].
Dataset load_idx_file(const std::filesystem::path& images, int64_t classes);

/// The t10k files beside them, if there are any, become the test part.
Dataset load_idx_folder(const std::filesystem::path& train_images, int64_t classes);

}  // namespace halfstep::data
