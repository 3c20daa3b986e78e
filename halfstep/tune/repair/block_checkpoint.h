// Stores learned blocks in a folder, so that an interrupted run does not learn them again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "halfstep/core/ir/model.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/tune/repair/repair.h"

namespace halfstep::repair {

class Checkpoints {
 public:
  /// Checkpoints of one method on this network and these samples. `seed` selects the samples of each step.
  Checkpoints(const Options& options, std::string method, const Model& start, const data::Samples& samples,
              uint64_t seed);

  /// Loads block `number` if the folder has it and the run resumes. `part` defines its expected structure. Throws if
  /// the file belongs to another run.
  std::optional<Model> load(size_t number, const Model& part) const;
  void save(size_t number, const Model& part);

 private:
  std::filesystem::path path(size_t number) const;

  std::filesystem::path folder_;
  bool resume_;
  std::string method_;
  std::string key_;  ///< digest of everything that determines the result
};

}  // namespace halfstep::repair
