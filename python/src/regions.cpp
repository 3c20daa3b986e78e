// Branches and loops whose bodies are Python functions.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "python/src/captured.h"

namespace halfstep::python {

capture::Body body_of(const nb::object& function) {
  return [function](const capture::Arrays& given) {
    return arrays_in(nb::cast<std::vector<nb::object>>(function(objects_of(given))));
  };
}

nb::list objects_of(const capture::Arrays& arrays) {
  nb::list list;
  for (const Array& array : arrays) list.append(object_of(array));
  return list;
}

capture::Arrays arrays_in(const std::vector<nb::object>& objects) {
  capture::Arrays arrays;
  for (const nb::object& object : objects) arrays.push_back(*as_array_of_ours(object.ptr()));
  return arrays;
}

void define_regions(nb::module_& module) {
  module.def("cond", [](const Array& condition, const nb::object& then, const nb::object& otherwise,
                        const std::vector<nb::object>& operands) {
    const InContext in_context;
    return objects_of(capture::cond(condition, body_of(then), body_of(otherwise), arrays_in(operands)));
  });
  module.def("while_loop", [](const nb::object& condition, const nb::object& body,
                              const std::vector<nb::object>& states, int64_t at_most) {
    const InContext in_context;
    return objects_of(capture::while_loop(body_of(condition), body_of(body), arrays_in(states), at_most));
  });
  module.def("scan",
             [](const nb::object& body, const std::vector<nb::object>& states, const std::vector<nb::object>& scanned) {
               const InContext in_context;
               const auto run = [&](const capture::Arrays& now, const capture::Arrays& elements) {
                 const nb::tuple pair = nb::cast<nb::tuple>(body(objects_of(now), objects_of(elements)));
                 return std::pair(arrays_in(nb::cast<std::vector<nb::object>>(pair[0])),
                                  arrays_in(nb::cast<std::vector<nb::object>>(pair[1])));
               };
               const auto [last, stacked] = capture::scan(run, arrays_in(states), arrays_in(scanned));
               return nb::make_tuple(objects_of(last), objects_of(stacked));
             });
}

}  // namespace halfstep::python
