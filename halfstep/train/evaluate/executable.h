// Runs a Model of any stage (float, prepared, integer).
#pragma once

#include <functional>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/engine/runtime/program.h"

namespace halfstep::train {

/// The graph for evaluation: a prepared Model is lowered to operators on codes, any other is put into evaluation form.
Model evaluation_form(const Model& model);

/// See CompileOptions::watch_iterations.
using IterationWatch = std::function<void(int64_t)>;

/// Runs a Model on samples in batches. The last batch may be smaller. A program is compiled once for each batch size.
class BatchRunner {
 public:
  /// `model` must be an evaluation_form. `fetch` is as in CompileOptions.
  BatchRunner(Model model, std::vector<std::string> fetch, ThreadPool& pool, IterationWatch watch = {});
  /// Throws if the names or types are not those of the model's arguments.
  Tensors run(const Tensors& inputs);

 private:
  Model model_;
  std::vector<std::string> fetch_;
  ThreadPool& pool_;
  IterationWatch watch_;
  std::map<Dims, runtime::Program> programs_;  ///< key: extents of the first argument
};

/// Maps the inputs of a network to outputs by name: the network itself, a teacher or another program.
using Answers = std::function<Tensors(const Tensors& inputs)>;
/// The outputs of `network`, which must outlive the returned function.
Answers answers_of(BatchRunner& network);

/// Fraction of labels that are the largest output of their row (the first one of equal outputs). Throws without labels,
/// and if the first output does not have one row for each label.
double accuracy(const Model& model, const data::Samples& samples, ThreadPool& pool, const IterationWatch& watch = {});

/// Accuracies and loss on labelled samples.
struct Scores {
  std::vector<double> right;  ///< for each element of `most`, the fraction of labels among that many largest outputs
  double loss = 0;            ///< mean cross entropy of a label in nats, with outputs as logits
};
/// Scores of the first output. Throws like `accuracy`.
Scores scores(const Model& model, const data::Samples& samples, const std::vector<int64_t>& most, ThreadPool& pool,
              const IterationWatch& watch = {});

/// Index of the largest element of each row, the first one of equals.
std::vector<int64_t> largest_of_rows(const Tensor& logits);

}  // namespace halfstep::train
