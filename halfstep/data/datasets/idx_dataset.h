// Data sets in MNIST's files: NAME-images-idx3-ubyte[.gz] beside NAME-labels-idx1-ubyte[.gz].
#pragma once

#include "halfstep/data/datasets/dataset.h"

namespace halfstep::data {

/// PREFIX-images-idx3-ubyte in `folder`, compressed or not; nothing when it is not there.
std::optional<std::filesystem::path> find_idx_images(const std::filesystem::path& folder, const std::string& prefix);

/// Images and the labels beside them, as u8 [n, 1, height, width].
Dataset load_idx_file(const std::filesystem::path& images, int64_t classes);

/// With the t10k files beside them as the test part, where there are any.
Dataset load_idx_folder(const std::filesystem::path& train_images, int64_t classes);

}  // namespace halfstep::data
