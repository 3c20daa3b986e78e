// A Model of any stage (float, prepared, integer) as something that runs.
#pragma once

#include <functional>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/engine/runtime/program.h"

namespace halfstep::train {

/// The graph that evaluates: a prepared Model lowered to operators on codes, any other in evaluation form.
Model evaluation_form(const Model& model);

/// As CompileOptions::watch_iterations.
using IterationWatch = std::function<void(int64_t)>;

/// Runs a Model over samples in batches, the last one smaller; programs are compiled once for each batch size.
class BatchRunner {
 public:
  /// `model` as evaluation_form gives it; `fetch` as in CompileOptions.
  BatchRunner(Model model, std::vector<std::string> fetch, ThreadPool& pool, IterationWatch watch = {});
  /// Throws when they are not the model's arguments.
  Tensors run(const Tensors& inputs);

 private:
  Model model_;
  std::vector<std::string> fetch_;
  ThreadPool& pool_;
  IterationWatch watch_;
  std::map<Dims, runtime::Program> programs_;  ///< by the extents of the first argument
};

/// What somebody has for the inputs of a network, by the names of its outputs.
using Answers = std::function<Tensors(const Tensors& inputs)>;
/// What `network` gives, which must outlive them.
Answers answers_of(BatchRunner& network);

/// Share of labels that are the largest output of their row, the first of equals. Throws without labels, and where the
/// first output has not a row for each.
double accuracy(const Model& model, const data::Samples& samples, ThreadPool& pool, const IterationWatch& watch = {});

struct Scores {
  std::vector<double> right;  ///< share of labels that are among so many largest outputs, for each of `most`
  double loss = 0;            ///< mean cross entropy of a label in nats, the outputs being logits
};
Scores scores(const Model& model, const data::Samples& samples, const std::vector<int64_t>& most, ThreadPool& pool,
              const IterationWatch& watch = {});

/// Position of the largest element of each row; the first of equals.
std::vector<int64_t> largest_of_rows(const Tensor& logits);

}  // namespace halfstep::train
