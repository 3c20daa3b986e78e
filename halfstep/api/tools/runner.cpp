#include "halfstep/api/tools/runner.h"

#include <algorithm>
#include <list>
#include <mutex>

#include "halfstep/api/run.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/train/evaluate/executable.h"

namespace halfstep::api {

struct Runner::State {
  struct Key {
    std::map<std::string, Dims> extents;
    std::vector<std::string> fetch;
    bool operator==(const Key&) const = default;
  };
  struct Entry {
    Key key;
    runtime::Program program;
  };

  Model form;
  std::mutex turn;  ///< protects all members below
  ThreadPool pool;
  std::list<Entry> programs;  ///< most recently used first

  State(const Model& network, int threads) : form(train::evaluation_form(network)), pool(threads) {}

  runtime::Program& program_for(Key key) {
    const auto known = std::ranges::find(programs, key, &Entry::key);
    if (known != programs.end()) {
      programs.splice(programs.begin(), programs, known);
      return programs.front().program;
    }
    CompileOptions options;
    options.fetch = key.fetch;
    runtime::Program program = compile(specialize(form, key.extents), options);
    if (programs.size() == kPrograms) programs.pop_back();
    programs.push_front({std::move(key), std::move(program)});
    return programs.front().program;
  }
};

Runner::Runner(const Model& network, int threads) : state_(std::make_unique<State>(network, threads)) {}
Runner::~Runner() = default;

Tensors Runner::run(const Tensors& inputs, const std::vector<std::string>& fetch) {
  const std::scoped_lock lock(state_->turn);
  return state_->program_for({extents_of(state_->form.graph, inputs, "inputs"), fetch}).run(inputs, state_->pool);
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
