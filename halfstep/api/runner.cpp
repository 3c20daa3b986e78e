#include "halfstep/api/runner.h"

#include <list>
#include <mutex>

#include "halfstep/api/run.h"
#include "halfstep/compile/compile.h"
#include "halfstep/train/executable.h"

namespace halfstep::api {

struct Runner::State {
  using Extents = std::map<std::string, Dims>;
  struct Entry {
    Extents extents;
    runtime::Program program;
  };

  Model form;
  CompileOptions options;
  std::vector<std::string> inputs;
  std::mutex turn;  ///< of everything below
  ThreadPool pool;
  std::list<Entry> programs;  ///< the last that ran first

  State(const Model& network, const RunnerOptions& asked) : form(train::evaluation_form(network)), pool(asked.threads) {
    options.fetch = asked.fetch;
    for (const Value argument : form.graph.arguments()) inputs.push_back(argument.name());
  }

  runtime::Program& program_for(const Tensors& given) {
    Extents extents = extents_of(form.graph, given, "inputs");
    for (auto entry = programs.begin(); entry != programs.end(); ++entry) {
      if (entry->extents != extents) continue;
      programs.splice(programs.begin(), programs, entry);
      return programs.front().program;
    }
    runtime::Program program = compile(specialize(form, extents), options);
    if (programs.size() == kPrograms) programs.pop_back();
    programs.push_front({std::move(extents), std::move(program)});
    return programs.front().program;
  }
};

Runner::Runner(const Model& network, const RunnerOptions& options)
    : state_(std::make_unique<State>(network, options)) {}
Runner::~Runner() = default;

const std::vector<std::string>& Runner::inputs() const { return state_->inputs; }

Tensors Runner::run(const Tensors& inputs) {
  const std::scoped_lock lock(state_->turn);
  return state_->program_for(inputs).run(inputs, state_->pool);
}

std::vector<std::string> value_names(const Model& network) {
  const Model form = train::evaluation_form(network);
  std::vector<std::string> names;
  for (const Value argument : form.graph.arguments()) names.push_back(argument.name());
  for (const Op op : form.graph.ops()) {
    for (const Value result : op.results()) names.push_back(result.name());
  }
  return names;
}

}  // namespace halfstep::api
