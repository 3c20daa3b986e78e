#include "halfstep/engine/capture/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/status.h"
#include "halfstep/engine/capture/captured_programs.h"
#include "halfstep/engine/capture/errors.h"
#include "halfstep/engine/capture/tracing.h"

namespace halfstep::capture {

struct Function::State {
  struct Entry {
    Programs programs;
    std::string depends;
  };

  Body body;
  FunctionOptions options;
  std::list<Entry> entries = {};  ///< most recently used first
  std::vector<std::string> reasons = {};

  std::string depends() const { return options.depends ? options.depends() : ""; }

  /// The entry that matches a call, moved to the front. Null if there is none. The reason is then recorded.
  Entry* find(const Arrays& arguments) {
    std::string reason;
    for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
      std::string why = entry->depends == depends() ? entry->programs.mismatch(arguments)
                                                    : fmt::format("found {}, expected {}", depends(), entry->depends);
      if (why.empty()) {
        entries.splice(entries.begin(), entries, entry);
        return &entries.front();
      }
      if (reason.empty()) reason = std::move(why);
    }
    if (!reason.empty()) reasons.push_back(std::move(reason));
    return nullptr;
  }

  Arrays capture(Entry& entry, const Arrays& arguments) {
    Trace trace(Trace::Kind::function, fmt::format("captured function '{}'", options.name), options.full_graph);
    for (const Array& argument : arguments) (void)trace.argument(argument);
    if (!options.dynamic_dims) trace.read_all_extents();
    Arrays results = body(arguments);
    trace.leave();
    entry.programs.add(trace, arguments, results, 0);
    if (!trace.doubts().empty()) {
      entries.clear();
      fail(errors::array_computed_elsewhere(fmt::format("captured function '{}'", options.name)));
    }
    return results;
  }
};

Function::Function(Body body, FunctionOptions options)
    : state_(std::make_unique<State>(State{std::move(body), std::move(options)})) {}
Function::~Function() = default;
Function::Function(Function&&) noexcept = default;
Function& Function::operator=(Function&&) noexcept = default;

Arrays Function::operator()(const Arrays& arguments) {
  if (Trace::current() != nullptr || !switches().captures) return state_->body(arguments);
  if (State::Entry* known = state_->find(arguments)) {
    Captured::Run run = known->programs.run(arguments, [](size_t, const Arrays&) {});
    return run.results ? std::move(*run.results) : state_->capture(*known, arguments);
  }
  State::Entry entry{Programs(arguments), state_->depends()};
  Arrays results = state_->capture(entry, arguments);
  state_->entries.push_front(std::move(entry));
  if (state_->entries.size() > kMostKinds) state_->entries.pop_back();
  return results;
}

std::vector<std::string> Function::programs() const {
  std::vector<std::string> texts;
  for (const State::Entry& entry : state_->entries) texts.push_back(entry.programs.text());
  return texts;
}

const std::vector<std::string>& Function::why_recaptured() const { return state_->reasons; }

Function trace(Function::Body body, const Arrays& examples, FunctionOptions options) {
  Function function(std::move(body), std::move(options));
  (void)function(examples);
  return function;
}

double item(const Array& array) {
  if (count_elements(array.dims()) != 1) fail(errors::item_of_many_elements(to_string(array.type())));
  decide(array);
  return element(array.tensor(), 0);
}

}  // namespace halfstep::capture
