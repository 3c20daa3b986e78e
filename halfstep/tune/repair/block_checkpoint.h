// Blocks as they were learned, in a folder, so that a run that was killed learns none of them twice.
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
  /// Of one method on this network and these samples, which `seed` draws from.
  Checkpoints(const Options& options, std::string method, const Model& start, const data::Samples& samples,
              uint64_t seed);

  /// The block `number`, where the folder has it and the run resumes; `part` says what it must look like. Throws where
  /// the file is of another run.
  std::optional<Model> load(size_t number, const Model& part) const;
  void save(size_t number, const Model& part);

 private:
  std::filesystem::path path(size_t number) const;

  std::filesystem::path folder_;
  bool resume_;
  std::string method_;
  std::string key_;  ///< all that decides the bits
};

}  // namespace halfstep::repair
