// Values that the verbs take and return, as objects of Python.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/arrays.h"
#include "python/src/network.h"
#include "python/src/results.h"

namespace halfstep::python {
namespace {

using Codes = std::optional<std::pair<int64_t, int64_t>>;

/// `networks` has the traced network of each site by its quantizer.
void make_own_quantizer(api::OwnQuantizer* made, const std::string& name, const std::string& layer,
                        const std::string& scale, const nb::dict& state,
                        const std::map<std::string, const Network*>& networks, const Codes& codes) {
  auto* own = new (made) api::OwnQuantizer{name, layer, scale, tensors_of(state, "quantize"), {}, codes};
  for (const auto& [quantizer, traced] : networks) own->networks.emplace(quantizer, *traced->model());
}

/// Returns the values of both in YAML by key, None if there is none.
nb::dict platform_differences(const api::Platform& first, const api::Platform& second) {
  nb::dict differences;
  for (const auto& one : api::compare_platforms(first, second).differences)
    differences[one.path.c_str()] = nb::make_tuple(one.first, one.second);
  return differences;
}

}  // namespace

void define_values(nb::module_& module) {
  nb::class_<api::EvaluateResult>(module, "Evaluation")
      .def_ro("accuracy", &api::EvaluateResult::accuracy)
      .def_ro("loss", &api::EvaluateResult::loss)
      .def_ro("top", &api::EvaluateResult::top)
      .def_ro("samples", &api::EvaluateResult::samples)
      .def_ro("tested", &api::EvaluateResult::tested)
      .def_ro("notes", &api::EvaluateResult::notes);
  nb::class_<api::QuantizerSite>(module, "QuantizerSite")
      .def_ro("scale", &api::QuantizerSite::scale)
      .def_ro("quantizer", &api::QuantizerSite::quantizer)
      .def_ro("layer", &api::QuantizerSite::layer)
      .def_prop_ro("type", [](const api::QuantizerSite& site) { return type_tuple(site.type); })
      .def_prop_ro("low", [](const api::QuantizerSite& site) { return array_of(site.low.clone()); })
      .def_prop_ro("high", [](const api::QuantizerSite& site) { return array_of(site.high.clone()); });
  nb::class_<api::OwnQuantizer>(module, "OwnQuantizer")
      .def("__init__", &make_own_quantizer, nb::kw_only(), nb::arg("name"), nb::arg("layer"), nb::arg("scale"),
           nb::arg("state"), nb::arg("networks"), nb::arg("codes").none());
  nb::class_<api::Platform>(module, "Platform")
      .def_ro("name", &api::Platform::name)
      .def_ro("doc", &api::Platform::doc)
      .def("record", [](const api::Platform& platform) { return report::as_json(platform); })
      .def("differences", &platform_differences);
}

}  // namespace halfstep::python
