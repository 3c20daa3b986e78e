// A captured Python function: selection of the program that serves a call, and the call itself.
#include <fmt/format.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "halfstep/api/errors.h"
#include "python/src/captured.h"
#include "python/src/errors.h"
#include "python/src/flat.h"
#include "python/src/guard.h"
#include "python/src/network.h"
#include "python/src/watch.h"

namespace halfstep::python {
namespace {

using capture::Arrays;
using capture::Trace;

struct Entry {
  nb::object kept;  ///< state that Python keeps for it
  std::vector<uintptr_t> words;
  std::vector<nb::object> constants;
  std::vector<Guard> guards;
  std::optional<capture::Programs> programs;
  std::vector<bool> simple;  ///< by tag: the only result is the function's result, and there are no other effects
  std::string crowded;       ///< the decision with more outcomes than are kept
  size_t calls = 0;
  uint64_t last = 0;  ///< number of the call that used it last
};

class CapturedFunction {
 public:
  /// `capture(args, kwargs, entry, effects, reason, gives_up)` runs and captures a call that no program serves. `entry`
  /// is the number of the entry with a new outcome of a decision, or -1. `finish(kept, tag, results, args, kwargs)`
  /// makes the function's result. `effect(kept, number, arrays)` shows an effect. `kept` is the value that was passed
  /// to `begin`.
  ///
  /// Safe for several Python threads. A callback may let other threads run, so the entry is looked up again after it.
  CapturedFunction(nb::object function, nb::object capture, nb::object finish, nb::object effect, size_t most)
      : function_(std::move(function)),
        capture_(std::move(capture)),
        finish_(std::move(finish)),
        effect_(std::move(effect)),
        most_(most) {}

  nb::object call(const nb::args& args, const nb::kwargs& kwargs);
  int64_t begin(const nb::tuple& args, const nb::dict& kwargs, const nb::list& guards, const nb::object& kept);
  /// Returns the value that was passed to `begin`, or None if the entry was dropped for calls of other kinds.
  nb::object kept(int64_t number) const {
    const auto found = std::ranges::find_if(entries_, [&](const auto& each) { return each.first == number; });
    return found == entries_.end() ? nb::none() : found->second->kept;
  }
  nb::list inputs(int64_t entry, const nb::tuple& args, const nb::dict& kwargs);
  bool end(int64_t number, Trace& trace, const std::vector<nb::object>& arguments,
           const std::vector<nb::object>& results, bool is_simple);
  nb::list describe() const;
  /// Describes the first changed value among those that calls do not replace. Empty if none changed.
  std::string changed(int64_t number) const;
  void forget(int64_t number) {
    std::erase_if(entries_, [&](const auto& each) { return each.first == number; });
  }

 private:
  static Flat flat_of(PyObject* args, PyObject* kwargs) {
    Flat flat;
    flatten(args, flat);
    if (kwargs != nullptr && PyDict_GET_SIZE(kwargs) > 0) flatten(kwargs, flat);
    return flat;
  }
  const Entry& entry(int64_t number) const {
    const auto found = std::ranges::find_if(entries_, [&](const auto& each) { return each.first == number; });
    if (found == entries_.end()) fail(errors::captured_program_dropped());
    return *found->second;
  }
  Entry& entry(int64_t number) { return const_cast<Entry&>(std::as_const(*this).entry(number)); }
  void move_to_front(int64_t number) {
    const auto found = std::ranges::find_if(entries_, [&](const auto& each) { return each.first == number; });
    if (found != entries_.end()) std::rotate(entries_.begin(), found, found + 1);
  }
  /// The reason why a call does not match an entry, and how far the comparison went. Empty if the call matches.
  /// `arrays` then holds its arrays.
  struct Mismatch {
    std::string why = {};
    int depth = 0;
  };
  static Mismatch mismatch(Entry& entry, const Flat& flat, std::vector<PyObject*>& objects, Arrays& arrays);

  nb::object function_, capture_, finish_, effect_;
  size_t most_;
  int64_t next_ = 0;
  uint64_t calls_ = 0;
  std::vector<std::pair<int64_t, std::shared_ptr<Entry>>> entries_;  ///< most recently used first
};

CapturedFunction::Mismatch CapturedFunction::mismatch(Entry& entry, const Flat& flat, std::vector<PyObject*>& objects,
                                                      Arrays& arrays) {
  if (entry.words != flat.words) return {"arguments: their number, kind or order differs", 0};
  for (size_t i = 0; i < flat.constants.size(); ++i) {
    if (!is_same(flat.constants[i], entry.constants[i].ptr()))
      return {fmt::format("an argument: found {}, expected {}", short_repr(flat.constants[i]),
                          short_repr(entry.constants[i].ptr())),
              1};
  }
  objects = flat.arrays;
  for (const Guard& guard : entry.guards) {
    if (std::ranges::find(flat.containers, guard.container()) != flat.containers.end())
      return {fmt::format("{}: it is also an argument", guard.what()), 2};
    if (!guard.holds(objects)) {
      const auto [found, expected] = guard.compared();
      return {fmt::format("{}: found {}, expected {}", guard.what(), found, expected), 2};
    }
  }
  arrays.clear();
  for (PyObject* object : objects) arrays.push_back(*nb::inst_ptr<Array>(nb::handle(object)));
  return {entry.programs->mismatch(arrays), 3};
}

nb::object CapturedFunction::call(const nb::args& args, const nb::kwargs& kwargs) {
  const InContext in_context;
  if (Trace::current() != nullptr || !capture::switches().captures) return function_(*args, **kwargs);
  const Flat flat = flat_of(args.ptr(), kwargs.ptr());
  Mismatch nearest;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const auto [number, entry] = entries_[i];
    std::vector<PyObject*> objects;
    Arrays arrays;
    Mismatch found = mismatch(*entry, flat, objects, arrays);
    if (!found.why.empty()) {
      if (nearest.why.empty() || found.depth > nearest.depth) nearest = std::move(found);
      continue;
    }
    move_to_front(number);
    ++entry->calls;
    const auto effect = [&, entry = entry](size_t which, const Arrays& shown) {
      nb::list list;
      for (const Array& array : shown) list.append(object_of(array));
      effect_(entry->kept, which, list);
    };
    const capture::Captured::Run run = entry->programs->run(arrays, effect);
    if (!run.results)
      return capture_(args, kwargs, number, run.effects,
                      entry->crowded.empty() ? "a decision has a new outcome" : entry->crowded,
                      !entry->crowded.empty());
    const auto object_for = [&](const Array& result) {
      for (size_t k = 0; k < arrays.size(); ++k) {
        if (arrays[k].is(result)) return nb::borrow(objects[k]);
      }
      return object_of(result);
    };
    if (entry->simple[run.tag]) return object_for((*run.results)[0]);
    nb::list results;
    for (const Array& result : *run.results) results.append(object_for(result));
    return finish_(entry->kept, run.tag, results, args, kwargs);
  }
  return capture_(args, kwargs, -1, 0, nearest.why, false);
}

/// Makes an entry for this kind of call and returns its number.
int64_t CapturedFunction::begin(const nb::tuple& args, const nb::dict& kwargs, const nb::list& guards,
                                const nb::object& kept) {
  const InContext in_context;
  const Flat flat = flat_of(args.ptr(), kwargs.ptr());
  auto entry = std::make_shared<Entry>();
  entry->kept = kept;
  entry->words = flat.words;
  for (PyObject* constant : flat.constants) entry->constants.push_back(nb::borrow(constant));
  for (const nb::handle guard : guards) entry->guards.emplace_back(nb::cast<nb::tuple>(guard));
  std::vector<PyObject*> objects = flat.arrays;
  for (const Guard& guard : entry->guards) (void)guard.holds(objects);
  Arrays arrays;
  for (PyObject* object : objects) arrays.push_back(*as_array_of_ours(object));
  entry->programs.emplace(arrays);
  if (entries_.size() >= most_) entries_.pop_back();
  entries_.emplace(entries_.begin(), next_, std::move(entry));
  return next_++;
}

/// Collects the input arrays for the programs of an entry: those of the arguments, and those at the guarded places.
nb::list CapturedFunction::inputs(int64_t number, const nb::tuple& args, const nb::dict& kwargs) {
  const Flat flat = flat_of(args.ptr(), kwargs.ptr());
  std::vector<PyObject*> objects = flat.arrays;
  for (const Guard& guard : entry(number).guards) (void)guard.holds(objects);
  nb::list list;
  for (PyObject* object : objects) list.append(nb::handle(object));
  return list;
}

bool CapturedFunction::end(int64_t number, Trace& trace, const std::vector<nb::object>& arguments,
                           const std::vector<nb::object>& results, bool is_simple) {
  const InContext in_context;
  const auto there = [&](const auto& each) { return each.first == number; };
  if (std::ranges::none_of(entries_, there)) return false;  // dropped in the meantime, for calls of other kinds
  Entry& to = entry(number);
  if (const auto where = to.programs->add(trace, arrays_in(arguments), arrays_in(results), to.simple.size())) {
    to.crowded = fmt::format("the decision at {} has more than {} outcomes", to_string(*where),
                             capture::Captured::kMostOutcomes);
    return false;
  }
  to.simple.push_back(is_simple);
  return true;
}

std::string CapturedFunction::changed(int64_t number) const {
  const auto found = std::ranges::find_if(entries_, [&](const auto& each) { return each.first == number; });
  if (found == entries_.end()) return {};  // dropped in the meantime
  const std::shared_ptr<Entry> entry = found->second;
  std::vector<PyObject*> objects;
  for (const Guard& guard : entry->guards) {
    if (guard.is_kept() && !guard.holds(objects)) return guard.what();
  }
  return {};
}

nb::list CapturedFunction::describe() const {
  nb::list list;
  for (const auto& [number, entry] : entries_) {
    nb::dict made;
    nb::list guards;
    for (const Guard& guard : entry->guards) guards.append(guard.what());
    made["number"] = number;
    made["inputs"] = entry->programs->types();
    made["guards"] = guards;
    made["training"] = entry->programs->switches().training;
    made["device"] = to_string(entry->programs->switches().place);
    made["calls"] = entry->calls;
    made["programs"] = entry->programs->count();
    made["text"] = entry->programs->text();
    list.append(made);
  }
  return list;
}

/// A trace on this thread, with its calls judged.
class Tracing {
 public:
  Tracing(const std::string& what, const std::vector<nb::object>& arguments, bool is_full, const nb::object& judge)
      : trace_(Trace::Kind::function, what, is_full), watch_(judge) {
    for (const Array& array : arrays_in(arguments)) (void)trace_.argument(array);
  }
  Trace& trace() { return trace_; }
  const std::string& doubts() const { return trace_.doubts(); }
  void leave_calls() { watch_.leave(); }
  void leave() {
    watch_.leave();
    trace_.leave();
  }

 private:
  Trace trace_;
  Watch watch_;
};

std::string package;  ///< folder of the package

/// Returns the current line of Python code outside of the package. None while a verb runs, which traces losses without
/// the GIL.
Location python_location() {
  if (PyGILState_Check() == 0) return {};
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  Location found;
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const std::string file = nb::cast<std::string>(nb::handle(code->co_filename));
    const bool is_ours = file.starts_with(package);
    if (!is_ours) found = {file, PyFrame_GetLineNumber(frame)};
    Py_DECREF(code);
    PyFrameObject* back = is_ours ? PyFrame_GetBack(frame) : nullptr;
    Py_DECREF(frame);
    frame = back;
  }
  return found;
}

using InputOf = std::tuple<std::string, std::string, std::vector<std::optional<int64_t>>>;

/// Calls capture::network_of for a function of lists of arrays. `inputs` holds names, element types and extents (None:
/// dynamic). The function may change the list of output names.
Network* network_of_function(const std::string& name, const std::vector<InputOf>& inputs, const nb::object& function,
                             const nb::list& outputs, const nb::object& name_of) {
  const InContext in_context;
  std::vector<capture::NetworkInput> types;
  for (const auto& [input, dtype, extents] : inputs) {
    const std::optional<DType> element = parse_dtype(dtype);
    if (!element) fail(errors::not_a_dtype(fmt::format("network '{}': input '{}'", name, input), dtype));
    Dims dims;
    for (const auto& extent : extents) dims.push_back(extent.value_or(kUnknown));
    types.push_back({input, {*element, dims}});
  }
  std::vector<std::string> names;
  const auto body = [&, run = body_of(function)](const Arrays& given) {
    Arrays results = run(given);
    names = nb::cast<std::vector<std::string>>(outputs);
    return results;
  };
  return new Network(capture::network_of(
      name, types, body, names, [&](const Array& array) { return nb::cast<std::string>(name_of(object_of(array))); }));
}

}  // namespace

void define_captured(nb::module_& module) {
  capture::set_locator(&python_location);
  module.def("set_package", [](const std::string& folder) { package = folder; });
  module.def("network_of_function", &network_of_function, nb::rv_policy::take_ownership);
  nb::class_<Trace>(module, "Trace");
  nb::class_<CapturedFunction>(module, "CapturedFunction")
      .def(nb::init<nb::object, nb::object, nb::object, nb::object, size_t>())
      .def("__call__", &CapturedFunction::call)
      .def("begin", &CapturedFunction::begin)
      .def("inputs", &CapturedFunction::inputs)
      .def("end", &CapturedFunction::end)
      .def("forget", &CapturedFunction::forget)
      .def("changed", &CapturedFunction::changed)
      .def("kept", &CapturedFunction::kept)
      .def("describe", &CapturedFunction::describe);
  // Begins and ends on one thread, in the order of a stack.
  module.def(
      "trace_begin",
      [](const std::string& what, const std::vector<nb::object>& arguments, bool is_full, const nb::object& judge) {
        return new Tracing(what, arguments, is_full, judge);
      },
      nb::rv_policy::take_ownership);
  nb::class_<Tracing>(module, "Tracing")
      .def_prop_ro("trace", &Tracing::trace, nb::rv_policy::reference_internal)
      .def_prop_ro("doubts", &Tracing::doubts)
      .def("leave_calls", &Tracing::leave_calls)
      .def("leave", &Tracing::leave);
  module.def("untraced", [](const nb::object& run) {
    const capture::Untraced untraced;
    return run();
  });
  module.def(
      "is_record", [](nb::handle value) { return is_record(Py_TYPE(value.ptr())); }, nb::arg("value").none());
  module.def("is_tracing", [] { return Trace::current() != nullptr; });
  module.def("is_in_region",
             [] { return Trace::current() != nullptr && Trace::current()->kind() == Trace::Kind::region; });
  module.def("note_effect", [](size_t number, const std::vector<nb::object>& shown) {
    if (Trace* trace = Trace::current()) trace->effect(number, arrays_in(shown));
  });
}

}  // namespace halfstep::python
