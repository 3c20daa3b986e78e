// Data sets by the name a user gives. Internal to the face.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "halfstep/base/place.h"
#include "halfstep/io/dataset.h"
#include "halfstep/train/samples.h"
#include "halfstep/verify/roads.h"

namespace halfstep {

/// The data set at `path`, or the embedded digits for "". Labels lie in [0, classes).
io::Dataset open_data(const std::string& path, int64_t classes = io::kMaxClasses);

/// The data set at `path` for a network that exists: its outputs bound the labels.
io::Dataset open_data_for(const Model& model, const std::string& path);

/// Throws when a class has no sample to train on or to test on: a network with an output for each class would learn
/// nothing of it.
void require_every_class(const io::Dataset& data);

/// The parts of `data` for `model`; throws when its samples are not what the model's arguments take or it has more
/// classes than outputs.
train::TrainTest parts_for(const Model& model, const io::Dataset& data);

/// The roads on samples, layer by layer.
verify::RoadReport compare_on(const verify::Roads& roads, const train::Samples& samples, ThreadPool& pool,
                              const ProgressCallback& progress);

/// "float", "prepared" or "integer".
std::string stage_of(const Model& model);

/// The Model at `path`; throws when it is of another stage.
Model load_stage(const std::filesystem::path& path, std::string_view stage);

/// cpu or sim; throws for anything else.
Place place_of(const std::string& text);

}  // namespace halfstep
