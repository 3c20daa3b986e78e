// The verbs of halfstep::api on Networks. Each releases the GIL while it works.
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "halfstep/api/commands.h"
#include "halfstep/api/errors.h"
#include "python/src/arrays.h"
#include "python/src/network.h"
#include "python/src/results.h"

namespace halfstep::python {
namespace {

using Path = std::string;
using Report = nb::tuple;  ///< text, JSON

/// Runs a verb without the GIL. Between its steps, signals are handled and progress is reported. An exception of either
/// ends the verb and is thrown here. `progress` is called with stage, done, total and note. None reports nothing.
template <class Verb>
auto work(const nb::object& progress, const api::CommonOptions& common, Verb&& verb) {
  std::optional<nb::python_error> raised;
  api::Settings settings;
  settings.threads = eager::threads();
  settings.seed = common.seed;
  const nb::object executable = nb::module_::import_("sys").attr("executable");  // None if Python is embedded
  if (!executable.is_none()) settings.python = nb::cast<std::string>(executable);
  settings.progress = [&](const Progress& now) {
    const nb::gil_scoped_acquire acquire;
    try {
      if (PyErr_CheckSignals() != 0) nb::raise_python_error();
      if (!progress.is_none()) progress(std::string(now.stage), now.done, now.total, std::string(now.note));
    } catch (nb::python_error& error) {
      raised.emplace(std::move(error));
      fail(errors::interrupted("Python"));
    }
  };
  try {
    const nb::gil_scoped_release release;
    return verb(settings);
  } catch (const Error&) {
    if (raised) throw std::move(*raised);
    throw;
  }
}

nb::object network_of(Model model) { return nb::cast(new Network(std::move(model)), nb::rv_policy::take_ownership); }

Network* load(const Path& path, const api::Dataset* data) {
  const nb::gil_scoped_release release;
  return new Network(data == nullptr ? api::load(path) : api::load(path, *data));
}

void save(const Network& network, const Path& path) {
  const nb::gil_scoped_release release;
  api::save(*network.model(), path);
}

api::Dataset* load_data(const Path& path, const Network* network, bool all, int64_t samples, bool skip_bad,
                        const std::string& label) {
  const nb::gil_scoped_release release;
  const int64_t classes = network == nullptr ? data::kMaxClasses : api::classes_of(*network->model());
  return new api::Dataset(
      api::load_data(path, classes, {.all = all, .samples = samples, .skip_bad = skip_bad, .label = label}));
}

/// `preprocess` is JSON. "" selects the default.
Network* create_network(const std::string& name, const api::Dataset& data, int64_t seed,
                        const std::string& preprocess) {
  limits::kSeed.require("seed", seed);
  data::PreprocessOptions own;
  if (!preprocess.empty()) own = data::parse_preprocess_options(preprocess, "preprocess");
  const nb::gil_scoped_release release;
  return new Network(api::create_network(name, data, static_cast<uint64_t>(seed), own));
}

/// Reads the options of a verb from a value of halfstep.options. Throws one Error with all wrong values.
template <class Command>
Command command_of(const nb::object& options) {
  const auto given = nb::cast<std::map<std::string, api::Words>>(options.attr("words")());
  Command command;
  std::vector<Diagnostic> found;
  for (const api::BoundOption& option : api::options_of(command)) {
    const auto words = given.find(std::string(option.entry->name));
    const bool is_there = option.entry->face == api::OptionFace::all || option.entry->face == api::OptionFace::python;
    if (!is_there || words == given.end()) continue;
    try {
      option.read(words->second, words->first);
    } catch (const Error& error) {
      found.insert(found.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  fail_on_any(std::move(found));
  return command;
}

/// Warns of keys that the record spells as an earlier version did.
api::Platform platform_with_warnings(const api::TargetOptions& target) {
  api::Platform platform = api::load_platform(target);
  const nb::gil_scoped_acquire lock;
  for (const std::string& key : platform.earlier_keys) {
    const std::string text = "platform '" + platform.name + "': " + key + " (0.3 removes the old spelling)";
    if (PyErr_WarnEx(PyExc_FutureWarning, text.c_str(), 2) < 0) throw nb::python_error();
  }
  return platform;
}

std::optional<api::Platform> platform_of(const api::TargetOptions& target) {
  if (!target.platform) return std::nullopt;
  return platform_with_warnings(target);
}

template <class Result>
Report report_of(const Result& result) {
  return nb::make_tuple(report::as_text(result), report::as_json(result));
}

/// Returns network, text, JSON.
template <class Result>
nb::tuple network_and_report(Result& result, Model& model) {
  const Report report = report_of(result);
  return nb::make_tuple(network_of(std::move(model)), report[0], report[1]);
}

Report inspect(const Network& network, const nb::object& options, const nb::object& progress) {
  auto command = command_of<api::InspectCommand>(options);
  return report_of(work(progress, command.common, [&](const api::Settings&) {
    return api::inspect_target(*network.model(),
                               {platform_with_warnings(command.target), command.quantize.prepare,
                                command.quantize.pad_channels, command.convert, command.quantize.regions});
  }));
}

nb::tuple quantize(const Network& network, const api::Dataset& data, const nb::object& options,
                   const nb::object& progress) {
  const auto command = command_of<api::QuantizeCommand>(options);
  auto result = work(progress, command.common, [&](const api::Settings& settings) {
    return api::quantize(*network.model(), platform_with_warnings(command.target), data, command.options, settings);
  });
  return network_and_report(result, result.model);
}

nb::tuple change_bits(const Network& network, const std::string& selector, std::optional<int> weights,
                      std::optional<int> activations) {
  auto result = api::change_bits(*network.model(), {{selector, weights, activations}});
  return network_and_report(result, result.model);
}

std::vector<api::QuantizerSite> quantizer_sites(const Network& network, const std::string& selector, bool weights) {
  return api::quantizer_sites(*network.model(), selector,
                              weights ? api::LayerPart::weights : api::LayerPart::activations);
}

nb::tuple put_quantizers(const Network& network, const std::vector<const api::OwnQuantizer*>& own) {
  std::vector<api::OwnQuantizer> all;
  for (const api::OwnQuantizer* one : own) all.push_back(*one);
  auto result = api::with_own_quantizers(*network.model(), all);
  return network_and_report(result, result.model);
}

nb::list ports_of(const auto& ports, std::string (*argument)(const std::string&)) {
  nb::list list;
  for (const auto& [port, type] : ports)
    list.append(nb::make_tuple(port, argument(port), std::string(name(type.dtype)), type.dims));
  return list;
}

/// The loss that `make` traces for outputs and targets. The GIL is held where the last copy of it ends.
losses::NamedLoss loss_of(const std::string& name, const nb::object& make) {
  const auto held = std::make_shared<const nb::object>(make);
  return {"Python function " + name, [held](const losses::Ports& ports) {
            const nb::gil_scoped_acquire acquire;
            const nb::object network = (*held)(ports_of(ports.outputs, losses::output_argument),
                                               ports_of(ports.targets, losses::target_argument));
            return *nb::cast<const Network&>(network).model();
          }};
}

Report train_network(Network& network, const api::Dataset& data, const std::vector<const Network*>& teachers,
                     const std::string& loss_name, const nb::object& loss, const nb::object& options,
                     const nb::object& progress) {
  auto command = command_of<api::TrainCommand>(options);
  if (!loss.is_none()) command.options.given_loss = loss_of(loss_name, loss);
  for (const Network* teacher : teachers) command.options.teachers.push_back(*teacher->model());
  command.options.schedule.platform = platform_of(command.target);
  api::TrainResult result;
  network.replace([&](const Model& model) {
    result = work(progress, command.common,
                  [&](const api::Settings& settings) { return api::train(model, data, command.options, settings); });
    return result.model;
  });
  return report_of(result);
}

nb::tuple convert(const Network& network, const nb::object& options, const nb::object& progress) {
  const auto command = command_of<api::ConvertCommand>(options);
  auto result = work(progress, command.common,
                     [&](const api::Settings&) { return api::convert(*network.model(), command.options); });
  return network_and_report(result, result.model);
}

nb::tuple verify(const Network& prepared, const Network& integer, const api::Dataset& data, const nb::object& options,
                 const nb::object& progress) {
  const auto command = command_of<api::VerifyCommand>(options);
  const auto result = work(progress, command.common, [&](const api::Settings& settings) {
    return api::verify(*prepared.model(), *integer.model(), data, command.options, settings);
  });
  const Report report = report_of(result);
  return nb::make_tuple(result.equal(), report[0], report[1]);
}

api::EvaluateResult evaluate(const Network& network, const api::Dataset& data, const nb::object& options,
                             const nb::object& progress) {
  const auto command = command_of<api::EvalCommand>(options);
  return work(progress, command.common, [&](const api::Settings& settings) {
    return api::evaluate(*network.model(), data, command.options, settings);
  });
}

Report analyze(const Network& network, const api::Dataset& data, const nb::object& options,
               const nb::object& progress) {
  auto command = command_of<api::AnalyzeCommand>(options);
  command.options.platform = platform_of(command.target);
  return report_of(work(progress, command.common, [&](const api::Settings& settings) {
    return api::analyze(*network.model(), data, command.options, settings);
  }));
}

nb::tuple choose_bits(const Network& network, const api::Dataset& data, const nb::object& options,
                      const nb::object& progress) {
  auto command = command_of<api::BitsCommand>(options);
  command.options.allocation.budgets = allocation::parse_budgets(command.budget);
  command.options.platform = platform_of(command.target);
  auto result = work(progress, command.common, [&](const api::Settings& settings) {
    return api::bits(*network.model(), data, command.options, settings);
  });
  return network_and_report(result, result.allocation.model);
}

Report inspect_data(const api::Dataset& data, bool measured, const nb::object& progress) {
  return report_of(work(progress, {}, [&](const api::Settings& settings) {
    return measured ? api::inspect_data(data, settings) : api::describe_data(data);
  }));
}

void write_contact_sheet(const api::Dataset& data, const Path& path) {
  const nb::gil_scoped_release release;
  api::write_contact_sheet(data, path);
}

std::vector<std::string> export_deploy(const Network& network, const Path& folder, bool overwrite) {
  return work(nb::none(), {}, [&](const api::Settings&) {
    return api::export_deploy(*network.model(), {folder, overwrite});
  });
}

/// Returns the files, the memory between layers, the flash size, and the layers in float.
nb::tuple export_c(const Network& network, const Path& folder, const api::Dataset* data, const nb::object& options,
                   const nb::object& progress) {
  auto command = command_of<api::ExportCommand>(options);
  command.c.overwrite = command.out.overwrite;
  const auto result = work(progress, command.common, [&](const api::Settings&) {
    return data == nullptr ? api::export_c(*network.model(), folder, command.c)
                           : api::export_c(*network.model(), *data, folder, command.c);
  });
  return nb::make_tuple(result.files, result.arena_bytes, result.constant_bytes, result.fallbacks);
}

nb::tuple export_network(const Network& network, const Path& path, const nb::object& options,
                         const nb::object& progress) {
  const auto command = command_of<api::ExportCommand>(options);
  const auto result = work(progress, command.common, [&](const api::Settings&) {
    return api::export_onnx(*network.model(), path, command.options);
  });
  return nb::make_tuple(result.nodes, result.approximated);
}

Report dump(const Network& network, const api::Dataset& data, const Path& out, const nb::object& options,
            const nb::object& progress) {
  const auto command = command_of<api::DumpCommand>(options);
  return report_of(work(progress, command.common, [&](const api::Settings& settings) {
    return api::dump(*network.model(), data, {out, command.out.overwrite}, command.options, settings);
  }));
}

/// Returns whether the two are equal, and the report as text, JSON and an HTML page.
nb::tuple compare(const Network* network, const Path& first, const Path& second, const api::Dataset* data,
                  const nb::object& options, const nb::object& progress) {
  const auto command = command_of<api::CompareCommand>(options);
  const auto comparison = work(progress, command.common, [&](const api::Settings& settings) {
    if (network != nullptr) return api::compare(*network->model(), second, *data, command.options, settings);
    const auto samples = data == nullptr ? std::nullopt : std::optional(*data);
    return api::compare(first, second, samples, command.options, settings);
  });
  return nb::make_tuple(comparison.equal(), report::as_text(comparison), report::as_json(comparison),
                        report::as_html(comparison));
}

/// `options` are those of inspect, which has the options of a target.
api::Platform load_platform(const nb::object& options) {
  return platform_with_warnings(command_of<api::InspectCommand>(options).target);
}

}  // namespace

void define_verbs(nb::module_& module) {
  using nb::arg;
  define_values(module);
  module.def("load_platform", &load_platform, arg("options"));
  module.def("load", &load, arg("path"), arg("data").none(), nb::rv_policy::take_ownership);
  module.def("save", &save);
  module.def("load_data", &load_data, arg("path"), arg("network").none(), arg("all"), arg("samples"), arg("skip_bad"),
             arg("label"), nb::rv_policy::take_ownership);
  module.def("create_network", &create_network, arg("name"), arg("data"), arg("seed"), arg("preprocess"),
             nb::rv_policy::take_ownership);
  module.def("inspect_data", &inspect_data, arg("data"), arg("measured"), arg("progress").none());
  module.def("write_contact_sheet", &write_contact_sheet, arg("data"), arg("path"));
  module.def("platforms", &quant::platform_names);
  module.def("change_bits", &change_bits, arg("network"), arg("selector"), arg("weights").none(),
             arg("activations").none());
  module.def("quantizer_sites", &quantizer_sites, arg("network"), arg("selector"), arg("weights"));
  module.def("put_quantizers", &put_quantizers, arg("network"), arg("own"));
  const auto verb = [&](const char* name, auto function, const auto&... inputs) {
    module.def(name, function, inputs..., arg("options"), arg("progress").none());
  };
  const auto network = arg("network"), data = arg("data");
  verb("inspect", &inspect, network);
  verb("quantize", &quantize, network, data);
  verb("train", &train_network, network, data, arg("teachers"), arg("loss_name"), arg("loss").none());
  verb("convert", &convert, network);
  verb("verify", &verify, arg("prepared"), arg("integer"), data);
  verb("dump", &dump, network, data, arg("out"));
  verb("compare", &compare, arg("network").none(), arg("first"), arg("second"), arg("data").none());
  verb("evaluate", &evaluate, network, data);
  verb("analyze", &analyze, network, data);
  verb("bits", &choose_bits, network, data);
  verb("export", &export_network, network, arg("path"));
  verb("export_c", &export_c, network, arg("folder"), arg("data").none());
  module.def("export_deploy", &export_deploy, network, arg("folder"), arg("overwrite"));
}

}  // namespace halfstep::python
